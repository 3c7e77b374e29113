"""The measures of SCORE (arXiv 2602.10017): answers scored without a reference."""
