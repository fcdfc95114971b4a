"""The linear relaxation of parent-set selection: cluster inequalities and their multipliers."""
