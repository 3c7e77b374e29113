"""The command line `simulrag`."""
