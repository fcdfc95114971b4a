"""Directed acyclic graphs: orders, separation, equivalence classes.

Functions of a graph take whatever has one: parents by name or by index, a model, a result, or a
graph by :func:`exactlearn.read_graph`.
"""

from exactlearn import loaded_on_use

__getattr__, __dir__ = loaded_on_use(__name__)
