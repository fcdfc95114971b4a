"""Probabilistic decision graphs (PDGs): model, inference, compilation and learning.

A PDG represents a joint distribution by a rooted DAG of local distributions over a forest of
variables. PDG-SEM is the paper on structural EM for PDGs, THESIS the thesis on PDGs; both are cited
by equation or algorithm.

======================  ===========================================  ==============  =============
Here                    Meaning                                      Shape           Papers
======================  ===========================================  ==============  =============
``forest``              Parent of each variable, -1 for a root       variables       F
``order``               Variables, parents before children           variables
node                    Number of a node; nodes of a variable are    nodes           nu
                        numbered together
``parameters``          Distribution of a node over the states of    per node,       p^nu
                        its variable                                 states
``successors``          Node of each child that a state leads to     per node,       succ(nu, Y,
                                                                     states,         x)
                                                                     children
edge, head              A node with one of its states, and the node
                        of a child that it leads to
out-flow                Probability of the evidence in a node's      nodes           ofl(nu)
                        subtree, given that a row reaches the node   (x rows)        (17)
in-flow                 Probability that a row reaches the node,     nodes           ifl(nu)
                        with the evidence outside its subtree        (x rows)        (18, 19)
``counts``              Expected weight of rows at a node and state  as parameters   (22)
``effective_size``      Sum over variables of states x nodes x       scalar          (3.52)
                        max(1, children): cost of one pass
``representational_     Sum over nodes of states - 1: free           scalar          (3.53)
size``                  parameters
``size_weight``         Weight of the size in the structure score    scalar          lambda (4.40)
                        (1 - lambda) L - lambda size
``rate``                lambda / (1 - lambda): log-likelihood that   scalar
                        a cell of size must gain
context                 Variables above that separate a variable's
                        subtree from all others
residual                A family's table after conditioning on some
                        of its variables, up to a factor
signature               Numbers of the residuals of all families     families
                        across a border: one node at most for each
======================  ===========================================  ==============  =============

Out-flow, in-flow and expected counts are numbered as in PDG-SEM, sizes and scores as in THESIS. In
a complete row exactly one node of each variable is reached, so the row's probability is the product
of the parameters of these nodes at the row's states, and the out-flows of the roots multiply to the
probability of the evidence. Theorems, with their proofs and tests: docs/theory/decision_graphs.md.
"""
