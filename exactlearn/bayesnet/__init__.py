r"""Bayesian networks: parameters, EM, deletion, exact inference, clique trees, naive Bayes.

=================== ============================================ ================== ===============
Name in the code    Meaning                                      Shape              Symbol
=================== ============================================ ================== ===============
``parents[i]``      parents of variable i, in their axes' order  (parents of i,)    :math:`pa(i)`
``tables[i]``       conditional probabilities of variable i      (r of parents, r)  :math:`P(x|u)`
``cardinalities``   number of states of each variable            (variables,)       :math:`r_i`
``counts``          (expected) weight of rows per configuration  as ``tables[i]``   :math:`N_{u,x}`
``smoothing``       pseudo-count added to every count            number             :math:`\alpha`
``codes``           states of rows, -1 for a missing cell        (rows, variables)  :math:`x`
``logs``            log-probability of each row's observed cells (rows,)            :math:`\log P`
``posterior``       marginals of all variables, one after other  (rows, sum of r)   :math:`P(x_i|e)`
``prior``           probability of each latent component         (components,)      :math:`P(c)`
=================== ============================================ ================== ===============
"""
