"""The linear relaxation of parent-set selection: cluster inequalities and their multipliers.

=====================  ==========================================  ================  ===============
symbol                 meaning                                     shape             in the papers
=====================  ==========================================  ================  ===============
``x``                  value of each candidate in the relaxation   (m,)              x(W -> v)
``clusters``           members of each cluster of variables        (clusters, n)     C
``counts``             k of each cluster: k members or more have   (clusters,)       k
                       fewer than k parents in it
``values``             Lagrange multiplier of each cluster         (clusters,)       lambda_C
``adjusted``           score plus multipliers of the clusters      (m,)
                       that a candidate satisfies
``reduced_costs``      best adjusted score of the variable minus   (m,)
                       that of the candidate
``bound``              Lagrangian bound: sum of the best adjusted                    L(lambda)
                       scores minus sum of k lambda_C
=====================  ==========================================  ================  ===============

Papers: Jaakkola, Sontag, Globerson and Meila 2010, "Learning Bayesian network structure using LP
relaxations"; Cussens 2011, "Bayesian network learning with cutting planes"; Bartlett and Cussens
2017, "Integer linear programming for the Bayesian network structure learning problem".
"""
