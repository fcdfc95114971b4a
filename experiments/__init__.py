"""The experiments of the papers, and ours: a grid for each table, a module for each paper.

``python -m experiments --list`` names the tables and figures, ``python -m experiments TABLE`` runs
one. A grid (``grids/TABLE.toml``) holds cases, methods, published figures and notes; a module holds
the function that does one run. Only the public names of `exactlearn` are imported.
"""
