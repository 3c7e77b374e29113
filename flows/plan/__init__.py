"""What is left to do and what it will cost."""
