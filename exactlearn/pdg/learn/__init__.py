"""Learning of decision graphs from complete and incomplete data."""
