"""How the constants were made; no stage of the pipeline runs this."""
