"""Categorical tables with missing cells: coding, discretisation, counts, missingness."""

MISSING_SYMBOLS = ("?", "", "NA")
"""Symbols of a missing cell in a file or frame, where no others are given."""

ALL_VALUES = ("*",)
"""Declared in place of states: every value of the column is one, however many there are."""

MANY = 20
"""More distinct values than this make a numeric column one to discretise."""
