"""Queries of models: posteriors, explanations, independences, entropy, divergence.

The most used ones stand on top: :func:`exactlearn.query`, :func:`exactlearn.query_rows`, and so on.

=============  ==============================================================  ==================
symbol         meaning                                                         shape
=============  ==============================================================  ==================
``codes``      state of each observed variable, -1 elsewhere                   (variables,)
``posterior``  P(X = x given the evidence), one variable after the other       (states of all,)
``wanted``     positions of the target variables                               (targets,)
=============  ==============================================================  ==================
"""

from exactlearn import loaded_on_use

__getattr__, __dir__ = loaded_on_use(__name__)
