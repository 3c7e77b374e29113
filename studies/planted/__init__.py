"""Errors planted by arithmetic into recorded answers, and what the audit makes of them."""
