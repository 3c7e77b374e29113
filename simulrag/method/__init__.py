"""Algorithm 1 of SimulRAG, one file a step. Records in, records out."""
