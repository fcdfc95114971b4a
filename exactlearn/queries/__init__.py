"""Queries of networks and decision graphs: posteriors, explanations, information."""
