"""Optimistic augmentation: the DAG and the completion of all missing cells that score best.

What the methods leave out of account, and why nothing is lost. Scores are decomposable: the score
of a DAG with a completion Z is the sum of ``s_i(PA_i, Z)``, which depends on Z only through the
contingency table of the family's columns.

**Convexity.** *The score of a family is convex in its table.* For the likelihood scores it is a
supremum over parameters of functions that are linear in the counts, less a constant. For BDeu it is
``log E[exp(sum_jk n_jk log theta_jk)]`` under a Dirichlet prior, the log-partition function of an
exponential family, which is convex by Hölder's inequality. (``tests/test_completions.py``:
``test_scores_are_convex_in_the_counts``.)

**Complete rows.** *A pair scores at most what the best family of each variable scores in the
complete rows, with the penalty of all rows.* Another row of weight w changes a family's score by
``f(n + w) - f(n) - [g(m + w) - g(m)]`` with ``m >= n``, whatever its states are, which is never
more than 0: ``f' (n) <= g'(m)``, because digamma rises and its argument is the smaller one for f,
and for the likelihood scores both are ``a (1 + log n)``.
(:mod:`exactlearn.augmentation.exact`; ``tests/test_augmentation.py``:
``test_complete_rows_bound_every_pair``.)

**Row classes.** *Rows with the same observed states and the same holes may be given the same
states.* Fix the DAG and all other rows. The tables are linear in how many rows of the class take
each completion, so the score is convex on that simplex and largest at a corner.
(``test_equal_rows_share_an_optimal_completion``.)

**Dominance.** *A candidate (i, PA, Z) is useless if for some PA' inside PA, with the part of Z that
i and PA' read, the score is at least as high.* Put PA' in its place: arcs are only taken away, so
the graph stays acyclic; the reading is a part of the same one, so all families still agree.
(``test_no_useful_candidate_is_lost``.) Between *bounds* over completions this does not hold: a node
further down may lower the bound of PA' and not that of PA, so the search keeps both.

**Placing rows.** *Rows r_1, ..., r_K with holes in a family's columns, added one after the other,
add at most the sum of what each adds when all earlier rows that can be in its cell are there, and
none elsewhere in its configuration.* Weight w added to a cell with n in it, of a configuration with
m >= n, changes the score by ``f(n + w) - f(n) - [g(m + w) - g(m)]``. Earlier rows in other cells of
the configuration raise m alone; g is convex, so the change falls. Earlier rows in the cell raise
both by d; the change does not fall, because ``f' (n + w) - f'(n) >= g'(m + w) - g'(m)``: for
BDeu f' and g' are digamma functions at ``n + ess / (q r)`` and ``m + ess / q``, of which the former
argument is the smaller, and digamma's increments over w fall with the argument; for the likelihood
scores both are ``a (1 + log n)``. (:mod:`exactlearn.augmentation.branch_and_bound.family_bounds`;
``tests/test_branching.py``: ``test_rows_are_placed_as_the_best_completion_does``.)

**Exchange.** *Of rows that can be placed into the same cells and weigh the same, placements that
exchanging two rows makes cheaper are not needed, nor, where rows pay the same everywhere, any but
the one in the order of the cells.* An exchange leaves the table as it is, and the rows differ in
what they pay only. (:mod:`exactlearn.augmentation.branch_and_bound.family_bounds`; the same test.)

**Prices.** *For prices p, q >= 0, let the family of i pay p(i, c, v) for reading hole c as state v,
and besides q(T, c, v) for each set T with the column of c in it of which i is the sink: T is i and
some of its parents. Every DAG with a completion scores at most the best DAG's sum of
max_Z [ s_i(PA_i, Z) - what is paid ], plus the sum over holes of
max_v [ sum_i p(i, c, v) + sum_T q(T, c, v) ].* Let all families have one completion Z. Each reader
pays ``p(i, c, Z_c)`` once. A set has one sink at most in a DAG: of two, each would be a parent of
the other. So what is paid is at most the sum of all prices of ``(c, Z_c)``, and that is at most
what is given back. Filling a hole makes its reading certain, so that its prices may be dropped. At
other prices the bracket rises by at most the sum, over holes and those who pay, of the most that a
state became cheaper by. (:mod:`exactlearn.augmentation.branch_and_bound.lagrangian_dual`;
``test_prices_bound_every_pair_and_close_much_of_the_gap``,
``test_bounds_stay_valid_at_other_prices_and_in_filled_holes``.)

**Leaving families out.** *With a bound B that gives variable i the value b_i, a network that has
the family f of i scores at most B - b_i + b(f)*, with b(f) what f has in the same sum: the other
terms are maxima already. Families for which that does not exceed the best pair known are in no
better network, at this node or below it. (``tests/test_branching.py``:
``test_families_left_out_are_in_no_better_network``.)

**Changes near a completion.** *Multipliers of clusters found for one completion bound the networks
of another*, because the Lagrangian bound holds for any local scores
(:mod:`exactlearn.solvers.lp.multipliers`). Families without the changed variable keep their scores.
For a group of changes, giving each family its best score after any of them bounds all at once; the
multipliers' bound of that is the sum over the children of the highest value that any of the changes
gives a child, so that changes which raise the same families go together.
(:mod:`exactlearn.augmentation.local_search.move_search`; ``tests/test_local_scale.py``:
``test_bounds_of_changes_are_sums_of_the_best_families_and_exceed_every_network``,
``test_an_envelope_is_each_familys_best_score_after_one_of_the_changes``,
``test_a_groups_bound_is_the_sum_of_the_highest_values``.)

**Profiles.** *If no pair in which a hole has another state than v scores more than L, every pair
that scores more than L has v in it.* So the search for the best pair with one state of a hole, when
a pair of score L is known, may fill all holes of which other states are known to score no more.
(:mod:`exactlearn.augmentation.profile`; ``tests/test_profile.py``:
``test_holes_are_filled_only_where_no_better_pair_is_lost``.)
"""

from exactlearn.augmentation.augment import METHODS, augment, check, gadget_problem
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.incumbent import Unproven
from exactlearn.augmentation.result import Augmentation

__all__ = [
    "METHODS",
    "Augmentation",
    "FamilyRules",
    "Unproven",
    "augment",
    "check",
    "gadget_problem",
]
