"""The model gateway: one asynchronous interface to every provider."""
