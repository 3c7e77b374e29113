"""One file a family of metrics; ``simulrag.metrics.registry`` finds them."""
