"""The model: decision graph, forest of variables, flat layout, structure score."""
