"""Categorical tables with missing cells: coding, discretisation, counts, missingness."""
