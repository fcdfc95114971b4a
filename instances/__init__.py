"""Bundled networks, data sets and run files."""
