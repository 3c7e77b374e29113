"""How the climate's assets and emulator were made; no stage of the pipeline runs this."""
