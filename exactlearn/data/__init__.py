"""Categorical tables with missing cells: coding, discretisation, counts, missingness."""

MISSING_SYMBOLS = ("?", "", "NA")
"""Symbols of a missing cell in a file or frame, where no others are given."""

MANY = 20
"""More distinct values than this make a numeric column one to discretise."""
