"""The half-price path: pending calls as batch files, sent, watched and read back."""
