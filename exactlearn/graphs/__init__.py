"""Directed acyclic graphs: orders, separation, equivalence, triangulation."""
