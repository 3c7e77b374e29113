"""One file a provider, behind one protocol."""
