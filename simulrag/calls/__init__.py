"""The content-hashed call cache that models and simulators share."""
