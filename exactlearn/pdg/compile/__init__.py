"""Compilation of networks: search for a forest, expansion, merging of nodes, approximation."""
