"""Bayesian networks: model, parameters, EM, exact inference, clique trees, naive Bayes."""
