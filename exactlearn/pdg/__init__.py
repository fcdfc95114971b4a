"""Probabilistic Decision Graphs: model, inference, compilation and refinement."""
