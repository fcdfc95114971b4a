"""Probabilistic decision graphs: forest, arrays, definition."""
