"""Judging models and completions."""
