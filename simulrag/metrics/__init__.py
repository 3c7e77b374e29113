"""What answers and labels say, as numbers with their intervals."""
