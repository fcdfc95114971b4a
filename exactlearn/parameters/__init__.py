"""Parameter estimation for a given structure."""
