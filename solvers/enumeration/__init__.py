"""The k best networks, and all within a factor of the best."""
