"""Labels by people, which override the judge's."""
