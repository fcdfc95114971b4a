"""Structure learning beyond one parent-set selection."""
