"""The report: one page, its figures and tables, and the table at the end of a run."""
