"""Options of the method, tried over the recorded run: what each costs, and what it gives."""
