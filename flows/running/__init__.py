"""What runs stages: model and simulator opened, chunks, Dask, deferred calls, and dvc.yaml."""
