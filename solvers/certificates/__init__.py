"""Proofs of optimality that a short program checks with exact numbers."""
