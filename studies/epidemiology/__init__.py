"""How the epidemiology's constants and emulator were made; no stage of the pipeline runs this."""
