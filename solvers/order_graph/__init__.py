"""Parent-set selection as a shortest path in the order graph."""
