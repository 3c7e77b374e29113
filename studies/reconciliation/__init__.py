"""The paper's method and the reconciled one against a known truth."""
