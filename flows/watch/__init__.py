"""What Prefect and the terminal show of a stage."""
