"""Inference: out-flows and in-flows, conditioning, sampling, most probable rows."""
