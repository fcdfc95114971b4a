"""Decomposable scores, and candidate parent sets of complete data."""
