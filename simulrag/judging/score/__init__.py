"""What SCORE (arXiv 2602.10017) asks models about an answer; ``simulrag.metrics.score`` counts."""
