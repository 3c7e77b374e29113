"""The report: one HTML page of tables, figures and traces."""
