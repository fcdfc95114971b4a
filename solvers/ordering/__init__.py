"""Local search over orders of the variables."""
