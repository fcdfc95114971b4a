"""Directed acyclic graphs: orders, separation, equivalence classes, triangulation."""
