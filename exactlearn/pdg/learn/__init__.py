"""Learning of parameters and structures from complete and incomplete data."""
