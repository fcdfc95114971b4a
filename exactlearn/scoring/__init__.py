r"""Decomposable scores, and candidate parent sets of complete data.

================ =========================================== ==================== =================
Name in the code Meaning                                     Shape                Symbol
================ =========================================== ==================== =================
``r``            states of the child                         number               :math:`r`
``q``            configurations of the parents, seen or not  number               :math:`q`
``counts``       weight of rows by configuration and state   (configurations, r)  :math:`n_{ijk}`
``n_j``          weight of rows by configuration             (configurations,)    :math:`n_{ij}`
``total``        weight of all rows                          number               :math:`N`
``ess``          equivalent sample size of BDeu              number               :math:`\alpha`
``size_weight``  weight of the number of parameters          number               :math:`\lambda`
``cell``, f      function of the count of a cell             (functions, counts)  :math:`f(n)`
configuration,   function of the count of a configuration    (functions, counts)  :math:`g(n)`
g
``sums``, F      sums of functions over the table of a set   (sets, forms)        :math:`F(S)`
``parents_sum``, sum over the table of the parents alone     number               :math:`G(P)`
G
``cells``        configurations of a set that rows have      number               :math:`K`
``ceiling``      bound on the scores of all supersets        number
================ =========================================== ==================== =================

The score of child x with parents P is :math:`F(P + x) - G(P)`, less the penalty
(:mod:`exactlearn.scoring.terms`).
"""
