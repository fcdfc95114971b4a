"""Structural EM: complete the table by a network, learn the best network, and so on.

``expected`` (Friedman 1997, "Learning belief networks in the presence of missing values and hidden
variables"; 1998, "The Bayesian structural EM algorithm"): the E-step weights the completions of
each row by their posterior probabilities, which gives the expected counts of all families; the
M-step finds the DAG with the best score of expected counts, by an exact solver; EM re-estimates its
parameters from the incomplete rows. A start ends when no DAG scores more than its own. For BIC and
AIC, without smoothing, the score of the observed cells rises in each iteration.

``hard`` (Rancoita, Zaffalon, Zucca, Bertoni and de Campos 2016, "Bayesian network data imputation
with application to survival tree analysis"): the E-step fills each row with its most probable
completion, the M-step finds the best DAG of the completed table and its smoothed frequencies. A
start ends when the completion stays, or one comes back.

The first start begins with the completions by independent variables, fitted to the observed cells
(a network, too, and the first to be kept where no arc is required); the others with random
completions.
"""

from collections.abc import Iterable

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.did_you_mean import suggestion
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.incumbent import Incumbent
from exactlearn.augmentation.task import Task
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.scoring.scores import Score
from exactlearn.solvers.problem import Arc
from exactlearn.solvers.result import OnEvent
from exactlearn.structure.climb import Climb
from exactlearn.structure.result import StructuralEM, Variant

VARIANTS: tuple[Variant, ...] = ("expected", "hard")
"""What the E-step completes rows by: all completions weighted, or the most probable one."""


@checked_arguments()
def structural_em(
    dataset: Dataset,
    score: Score,
    *,
    variant: str = "expected",
    max_parents: int = 3,
    alpha: float = 1.0,
    starts: int = 1,
    solver: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
    required: Iterable[Arc] = (),
    forbidden: Iterable[Arc] = (),
    completions: int = 512,
    on_event: OnEvent | None = None,
) -> StructuralEM:
    """Learn a network from incomplete rows by structural EM, with an exact M-step.

    Parameters
    ----------
    dataset
        Table with missing cells; of one without, the best network is learned.
    score
        The decomposable score to maximise; BDeu is that of the expected counts.
    variant
        ``expected`` or ``hard``, see the module.
    max_parents
        Largest number of parents.
    alpha
        Smoothing of the parameters, added to every expected count.
    starts
        Number of starts; the best network over all of them is returned. A variable that no row
        observes needs more than one: the first start leaves it independent of the others.
    solver
        Solver of the M-steps, as for :func:`~exactlearn.solvers.solve`. With ``ordering`` the
        M-step is a local search; the message says so.
    time_limit
        Seconds; when they are over, the best network so far is returned.
    seed
        Seed of the random starts and draws; same seed, same answer, unless the limit is reached.
    required, forbidden
        Arcs (parent, child) by variable index.
    completions
        Most completions of a row that ``expected`` lists; up to so many, expected counts are
        exact. Draws from its posterior stand for a row with more
        (:func:`~exactlearn.structure.expansion.expand`), and the message says so.
    on_event
        Called at each better network, and whenever the solver reports: the score is
        ``observed_score`` for ``expected``, ``score`` for ``hard``; the values are those of the
        missing cells.

    Returns
    -------
    StructuralEM
        Checked: completion and score are recomputed.

    Raises
    ------
    OptionError
        When an option is unknown or out of range.
    InfeasibleError
        When the constraints exclude every network.
    TooLargeError
        When there are too many parent sets, or the missing cells of a row depend on each other
        too much for exact inference.

    Examples
    --------
    >>> import numpy as np
    >>> from exactlearn.scoring.scores import BDeu
    >>> rows = np.array([[0, 0], [1, 1], [0, 0], [1, 1], [1, -1], [0, -1], [0, 0], [1, 1]])
    >>> found = structural_em(Dataset(rows, ("a", "b"), (("n", "y"),) * 2), BDeu())
    >>> found.status, found.values
    ('converged', array([1, 0]))
    """
    chosen = next((v for v in VARIANTS if v == variant), None)
    if chosen is None:
        raise OptionError(f"there is no variant {variant!r}{suggestion(variant, VARIANTS)}")
    if min(max_parents, seed) < 0 or min(starts, completions) < 1:
        raise OptionError(
            "expected max_parents and seed of at least 0, starts and completions of at least 1; "
            f"found max_parents {max_parents}, seed {seed}, starts {starts}, "
            f"completions {completions}"
        )
    rules = FamilyRules.of(max_parents, required, forbidden)
    task = Task(dataset, score, rules, solver, seed)
    climb = Climb(task, chosen, alpha, completions, Incumbent(time_limit, on_event))
    result = climb.run(starts)
    result.check(dataset, score)
    return result
