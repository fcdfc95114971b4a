"""Exact augmentation by branch and bound on the states of missing cells."""
