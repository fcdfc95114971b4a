"""The published experiments, repeated: one module per paper."""
