"""The t-local hill-climber over completions, and its proof of local optimality."""
