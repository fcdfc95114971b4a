"""Records, traces, frontiers and drawings."""
