"""In-flow and out-flow inference in decision graphs."""
