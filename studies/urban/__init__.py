"""How the corridor's constants were made; no stage of the pipeline runs this."""
