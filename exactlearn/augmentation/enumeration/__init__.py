"""Exact augmentation that enumerates the completions of families."""
