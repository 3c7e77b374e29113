"""Claims labelled by the reference: by a model, and by people."""
