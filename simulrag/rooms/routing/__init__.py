"""Which source can answer a question, by the sources' handbooks, before anything is run."""
