"""Algorithm 1 of SimulRAG, a file for a step or two that are alike. Records in, records out."""
