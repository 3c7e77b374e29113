"""The top floor: one Prefect flow per dvc.yaml stage, and the command line."""
