"""One module a stage of dvc.yaml."""
