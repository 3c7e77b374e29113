"""Labels by people: which claims to offer, how to collect and settle them, how well they agree."""
