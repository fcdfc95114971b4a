r"""Decomposable scores, and candidate parent sets of complete data.

================ =========================================== ==================== =================
Name in the code Meaning                                     Shape                Symbol
================ =========================================== ==================== =================
``r``            states of the child                         number               :math:`r`
``q``, ``space`` configurations of the parents, seen or not  number               :math:`q`
``counts``       weight of rows by configuration and state   (configurations, r)  :math:`n_{ijk}`
``n_j``          weight of rows by configuration             (configurations,)    :math:`n_{ij}`
``total``        weight of all rows                          number               :math:`N`
``a``, ``ess``   equivalent sample size of BDeu              number               :math:`\alpha`
``lambda_``      weight of the number of parameters          number               :math:`\lambda`
``b``            penalty for each free parameter             number               :math:`b`
``term``, F      part of a score that belongs to one set     number               :math:`F(S)`
``own``          term of the parents alone                   number               :math:`F(P)`
``cells``        configurations of a set that rows have      number               :math:`K`
``ceiling``      bound on the scores of all supersets        number
================ =========================================== ==================== =================

The score of child x with parents P is :math:`F(P + x) - F(P)`, less the penalty
(:mod:`exactlearn.scoring.set_scores`).
"""
