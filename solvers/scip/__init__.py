"""Branch and cut on SCIP."""
