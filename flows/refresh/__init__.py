"""New questions on a schedule."""
