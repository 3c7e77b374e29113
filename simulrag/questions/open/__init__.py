"""Open questions: templates, sampled scenarios, runs, writing, check."""
