"""Categorical tables with missing cells: coding, discretisation, counts, missingness."""

MISSING_SYMBOLS = ("?", "", "NA")
"""Symbols of a missing cell in a file or frame, where no others are given."""

ALL_VALUES = ("*",)
"""Declared in place of states: every value of the column is one, however many there are."""

STATES_SUFFIX = ".states.json"
"""What the name of a table of text ends in, for the file beside it that lists its states."""

MANY = 20
"""More distinct values than this make a numeric column one to discretise."""
