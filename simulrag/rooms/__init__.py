"""The rooms: see ``simulrag.registry``. A room may import the core and no other room."""
