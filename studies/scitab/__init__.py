"""The audit on claims about tables of papers that experts judged (SciTab)."""
