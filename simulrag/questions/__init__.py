"""Where questions come from: generated from a simulator, or published files."""
