"""The answer of an imputation, and the networks behind it, learned from the incomplete table.

What `Learning` leaves open is filled by the learner: one of augmentation has the defaults of
`augment` (`AUGMENTING`), networks that predict cells have their own (`PREDICTING`), which the
benchmark of all imputers (``experiments/completions.py``) measures. These were chosen on a few
tables of MCAR 10 % and 20 %, not those judged: missing cells are predicted better by denser
networks than an equivalent sample size of 1 finds in few rows (docs/imputation.md has the figures).

Averaging: with few rows many networks score about as well as the best one, and each is wrong
elsewhere, so posteriors can be averaged over networks learned from bootstrap samples of the rows.
Breiman 1996, "Bagging predictors"; for networks Friedman, Goldszmidt and Wyner 1999, "Data analysis
with Bayesian networks: a bootstrap approach". Each structure is learned from a complete sample: the
missing cells are drawn from the posterior of the network before (data augmentation, Tanner and Wong
1987, "The calculation of posterior distributions by data augmentation"). The equivalent sample
sizes of the networks differ, since none is best for all tables. The parameters of each network are
estimated from all rows, by EM.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import instance_of, one_of
from exactlearn._runtime.arguments import check_fields, register
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn._runtime.display import ByValue, Displayed
from exactlearn._runtime.progress import counted
from exactlearn._runtime.tolerance import gap_between
from exactlearn._runtime.variable_arguments import as_arcs
from exactlearn.augmentation import METHODS as AUGMENTATIONS
from exactlearn.augmentation import augment
from exactlearn.augmentation.solutions import Augmentation
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.deletion import fit_deletion
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import draw_completions, posterior_cells
from exactlearn.data.dataset import Dataset, DatasetLike, as_dataset
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BDeu, Score
from exactlearn.solvers import solve
from exactlearn.solvers.component_solver import SolverParameters
from exactlearn.solvers.problem import Arc
from exactlearn.structure.result import StructuralEM
from exactlearn.structure.structural_em import structural_em

if TYPE_CHECKING:
    import pandas as pd

Learner = Literal[
    "structural-em",
    "structural-em-hard",
    "exact",
    "branching",
    "gadget",
    "t-local",
    "mode",
]

STRUCTURAL_EM = ("structural-em", "structural-em-hard")
"""The learners that are no methods of augmentation."""

Missingness = Literal["ignored", "learned"]
"""Whether the missingness mechanism is learned, or taken to be ignorable."""


class Defaults(NamedTuple):
    """Defaults of a learner where `Learning` leaves them open; names as there."""

    score: Score
    max_parents: int
    starts: int
    smoothing: float


AUGMENTING = Defaults(BDeu(1.0), max_parents=3, starts=10, smoothing=SMOOTHING)
"""Of the methods of `augment`: the defaults of all commands."""

PREDICTING = Defaults(BDeu(10.0), max_parents=2, starts=1, smoothing=0.3)
"""Of networks that predict cells: those of `AUGMENTING` predict 2.1 points fewer cells rightly."""

ESS_FACTORS = (0.4, 1.6, 0.1)
"""What the equivalent sample sizes of networks that are averaged are multiplied by, in turn."""

EM_TOLERANCE = 1e-3
"""Gain for each row below which EM for the parameters of networks that are averaged ends."""

QUICK = SolverParameters(
    uses_up_time=False,
    order_budget=0,
    least_order_budget=1_000_000,
    relaxation_budget=0,
)
"""A short search among orders: networks that are averaged need not be optimal."""

MAX_DYNAMIC = 17
"""Variables up to which dynamic programming is faster than that search."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Imputed(ByValue, shown="status values score bound network"):
    """The values of a table's missing cells, with what the method knows about them.

    Parameters
    ----------
    values
        State of each missing cell, in the order of ``Dataset.missing_cells``; ``None`` when a limit
        came before there were any.
    probabilities
        Distribution of each missing cell, shape (cells, most states of a variable), where the
        method has one.
    parents
        Parents of each variable in the network that was learned, where one was.
    network
        That network with its parameters, where they were estimated.
    score, bound
        Score of the completed table with the learned network, and its proven bound; NaN and ``inf``
        for methods without.
    status
        How the search ended, as for :class:`~exactlearn.augmentation.Augmentation`.
    table
        The table whose missing cells these are, in the coding of the values.
    """

    values: NDArray[np.int64] | None
    probabilities: NDArray[np.float64] | None = None
    parents: tuple[tuple[int, ...], ...] | None = None
    network: BayesianNetwork | None = None
    score: float = nan
    bound: float = inf
    status: str = "heuristic"
    table: Dataset | None = None

    @classmethod
    def of(cls, probabilities: NDArray[np.float64]) -> "Imputed":
        """Give each cell its most probable state, the first of several."""
        return cls(values=likeliest(probabilities), probabilities=probabilities)

    def to_frame(self, dataset: DatasetLike | None = None) -> "pd.DataFrame":
        """Return the values of a table's missing cells as a pandas frame.

        Parameters
        ----------
        dataset
            The table that was imputed, a :class:`~exactlearn.Dataset` or a frame; it may be left
            out where the result knows it, as those of :func:`~exactlearn.impute` and
            :class:`~exactlearn.Imputer` do.

        Returns
        -------
        frame
            Columns row, variable, value; where the method has probabilities, also that of the
            value, the next best value and its loss, see :attr:`losses`; no rows without values.
        """
        table = as_dataset(dataset) if self.table is None else self.table
        if self.values is None:
            return table.part(slice(0)).completion_frame([])
        return table.completion_frame(self.values, self.probabilities, self.losses)

    @property
    def losses(self) -> NDArray[np.float64] | None:
        """By how much each state's logarithm of the probability is below the value's, in nats.

        Shape (cells, most states); infinite for states of probability zero, negative where a method
        did not take the most probable one; ``None`` without probabilities.
        """
        if self.probabilities is None or self.values is None:
            return None
        with np.errstate(divide="ignore"):
            logs = np.log(self.probabilities)
        of_values = logs[np.arange(len(logs)), self.values]
        return np.where(np.isneginf(logs), np.inf, of_values[:, None] - logs)

    @property
    def ended(self) -> str:
        """The status of what is made of this by a network: no longer one that is proven."""
        is_over = self.status in ("feasible", "interrupted")
        return self.status if is_over else "heuristic"

    @property
    def gap(self) -> float:
        """Difference of bound and score in nats; infinite without score or bound."""
        return gap_between(self.score, self.bound) if isfinite(self.score) else inf


class CellModel(Protocol):
    """A fitted model that gives the distribution of each missing cell of a table."""

    def posterior(self, table: Dataset) -> NDArray[np.float64]:
        """Return the distribution of each missing cell given the observed cells of its row.

        Parameters
        ----------
        table
            A table with the variables and states of the one the model was fitted on, in their
            order; that one or another.

        Returns
        -------
        probabilities
            Shape (cells, most states of a variable), in the order of ``table.missing_cells``, zero
            beyond a variable's states; each row sums to one.
        """
        ...


def likeliest(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return each cell's most probable state, shape (cells,); ties go to the first."""
    return np.asarray(probabilities.argmax(axis=1), np.int64)


@dataclass(frozen=True, kw_only=True, repr=False)
class Learning(
    Displayed, shown="learner score max_parents smoothing networks seed time_limit"
):
    """Options of learning a network from a table with missing cells.

    Parameters
    ----------
    learner
        Of the modes ``posterior``, ``mpe``, ``multiple`` and ``augmentation``. Left out,
        ``t-local`` for ``augmentation`` and else ``structural-em``.
        ``structural-em``; ``structural-em-hard``, which fills each row with its most probable
        completion; or a method of :func:`~exactlearn.augmentation.augment`.
    score, max_parents, starts, smoothing
        The score to maximise, largest number of parents, number of starts of ``t-local`` and
        structural EM, and pseudo-count of every parameter. Left out, those of the learner:
        BDeu(1), 3, 10 and 0.25 for a method of `augment`, as there; BDeu(10), 2, 1 and 0.3 for
        networks that predict cells (`settled`).
    t
        Radius, for the learner ``t-local``.
    solver
        Solver of every network problem inside.
    time_limit
        Seconds for the structure; the best so far is taken when they are over. Seconds for all
        that a method of a library does.
    seed
        Seed of all that is random.
    required, forbidden
        Arcs (parent, child) by variable index.
    networks
        How many networks the modes ``averaged`` and ``stacked`` learn.
    missingness
        ``learned``: the posteriors are those of a network in which a cell may be missing because of
        its own value or another variable's, or are shifted for the former, where networks are
        pooled (:mod:`exactlearn.imputation.mechanism`). Left out, ``learned`` by ``stacked`` alone.
    on_event
        Called with the events of the search.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.Learning(score="bic", max_parents=1).chosen
    'structural-em'
    >>> el.Learning().settled.score, el.Learning(learner="t-local").settled.score
    (BDeu(ess=10.0), BDeu(ess=1.0))
    """

    learner: Learner | None = None
    score: Score | None = None
    max_parents: int | None = None
    t: int = 1
    starts: int | None = None
    solver: str = "auto"
    time_limit: float | None = None
    seed: int = 0
    required: Collection[Arc] = ()
    forbidden: Collection[Arc] = ()
    smoothing: float | None = None
    networks: int = 6
    missingness: Missingness | None = None
    on_event: OnEvent | None = None

    def __post_init__(self) -> None:
        """Take a score by its name, and refuse what no method could take."""
        for key in ("required", "forbidden"):
            as_arcs(getattr(self, key), key)
        check_fields(
            self,
            learner=one_of(get_args(Learner)),
            missingness=one_of(get_args(Missingness)),
        )

    @property
    def chosen(self) -> Learner:
        """The learner, ``structural-em`` where none is named."""
        return self.learner or "structural-em"

    @property
    def own(self) -> Defaults:
        """The learner's defaults.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.Learning(learner="t-local").own.max_parents
        3
        """
        # Hard EM maximises the score of a completed table, too, and is compared with augmentation.
        is_augmenting = self.chosen in (*AUGMENTATIONS, "structural-em-hard")
        return AUGMENTING if is_augmenting else PREDICTING

    @property
    def settled(self) -> Defaults:
        """The options as given, else as the learner has them."""
        fields = {name: getattr(self, name) for name in Defaults._fields}
        given = {name: value for name, value in fields.items() if value is not None}
        return self.own._replace(**given)


register(
    learning=instance_of(
        Learning, "a Learning", "pass Learning(score='bic', seed=1), say"
    )
)


def augmented(dataset: Dataset, learning: Learning) -> Imputed:
    """Complete a table by augmentation; the network has no parameters yet, so there is none.

    Raises
    ------
    OptionError, TooLargeError, InfeasibleError
        As :func:`~exactlearn.augmentation.augment`.
    """
    settled = learning.settled
    # Score, bounds and limits are those of the learner; t is the radius of t-local.
    options = _shared(learning)
    result = augment(
        dataset,
        settled.score,
        method=learning.chosen,
        t=learning.t,
        **options,
    )
    return replace(_imputed(result), bound=result.bound)


def learned(dataset: Dataset, learning: Learning) -> Imputed:
    """Learn structure and parameters; the completion is the learner's own.

    After augmentation the parameters are estimated by EM from the incomplete table: those of the
    completed one would be too sure of the values that were filled in.

    Returns
    -------
    imputed
        Without network and values when a limit came before there was any network.

    Raises
    ------
    OptionError
        When an option is wrong.
    TooLargeError, InfeasibleError
        As :func:`~exactlearn.augmentation.augment`.
    """
    settled = learning.settled
    if learning.chosen in STRUCTURAL_EM:
        is_hard = learning.chosen == "structural-em-hard"
        options = _shared(learning) | {"hard": is_hard, "smoothing": settled.smoothing}
        fitted = structural_em(dataset, settled.score, **options)
        return replace(_imputed(fitted), network=fitted.network)
    completed = augmented(dataset, learning)
    if completed.parents is None:
        return completed
    # Parameters of the incomplete table: the completed one is too sure of its values.
    fit = fit_em(dataset, completed.parents, smoothing=settled.smoothing)
    return replace(completed, network=fit.model)


def _imputed(result: Augmentation | StructuralEM) -> Imputed:
    """Return the learner's completion; without values where there is no network."""
    return Imputed(
        values=None if result.parents is None else result.values,
        parents=result.parents,
        score=result.score,
        status=result.status,
    )


def _shared(learning: Learning) -> dict[str, Any]:
    """Return the options that augmentation and structural EM take alike."""
    names = ("solver", "time_limit", "seed", "required", "forbidden", "on_event")
    settled = learning.settled
    counts = {"max_parents": settled.max_parents, "starts": settled.starts}
    return counts | {name: getattr(learning, name) for name in names}


def bootstrap_networks(
    dataset: Dataset, learning: Learning
) -> tuple[tuple[BayesianNetwork, ...], str]:
    """Learn ``learning.networks`` networks, each from a drawn completion of a bootstrap sample.

    Returns
    -------
    networks
        Fewer, or none, when a limit or an interrupt came first.
    status
        ``heuristic``, or else ``feasible`` or ``interrupted``.

    Raises
    ------
    TooLargeError
        When the missing cells of a row depend on each other too much for exact inference.
    InfeasibleError
        When no network has the required arcs without the forbidden ones.
    """
    smoothing = learning.settled.smoothing
    networks: list[BayesianNetwork] = []
    network = independent(dataset)
    n_networks = learning.networks + 1  # the first, from independent draws, is not kept
    with SearchControl.within(learning.time_limit).running() as control:
        for k in counted("network", range(n_networks), n_networks):
            # A bootstrap sample of the rows, missing cells drawn by the network before.
            rng = np.random.default_rng((learning.seed, k))
            (values,) = draw_completions(network, dataset, 1, rng)
            sample = dataset.complete(values).resampled(rng)
            factor = ESS_FACTORS[k % len(ESS_FACTORS)]
            parents = _best_parents(sample, learning, factor, control)
            if parents is None or control.is_over:
                break
            # Parameters from all rows.
            fit = fit_em(
                dataset,
                parents,
                smoothing=smoothing,
                starts=1,
                tolerance=EM_TOLERANCE,
            )
            network = fit.model
            if k > 0:
                networks.append(network)
        status = control.status if control.is_over else "heuristic"
    return tuple(networks), status


def _best_parents(
    sample: Dataset,
    learning: Learning,
    factor: float,
    control: SearchControl,
) -> tuple[tuple[int, ...], ...] | None:
    """Return a good DAG of a complete table; ``None`` when time is up.

    Parameters
    ----------
    sample
        The table.
    learning
        Score, bounds, arcs and solver.
    factor
        Multiplies the equivalent sample size of BDeu.
    control
        Clock of the search.
    """
    # No equivalent sample size is best for all tables: those of the networks differ.
    score = learning.settled.score
    if isinstance(score, BDeu):
        score = BDeu(factor * score.ess)
    # Parent sets of the complete sample, then a short search among DAGs.
    problem = candidate_parent_sets(
        sample,
        score,
        max_parents=learning.settled.max_parents,
        required=learning.required,
        forbidden=learning.forbidden,
        control=control,
    )
    if problem.stopped:
        return None
    solver = learning.solver
    if solver == "auto":
        solver = "dynamic" if sample.n_variables <= MAX_DYNAMIC else "ordering"
    limit = control.remaining
    return solve(problem, solver=solver, time_limit=limit, parameters=QUICK).parents


def averaged_posterior(
    networks: Sequence[BayesianNetwork], dataset: Dataset
) -> NDArray[np.float64]:
    """Return the mean of the networks' posterior distributions of each missing cell.

    Parameters
    ----------
    networks
        At least one; all over the same variables and states.
    dataset
        As for :func:`~exactlearn.bayesnet.row_completion.posterior_cells`.

    Returns
    -------
    probabilities
        Shape (cells, most states of a variable).

    Raises
    ------
    DataError, TooLargeError
        As :func:`~exactlearn.bayesnet.row_completion.posterior_cells`.
    """
    total = posterior_cells(networks[0], dataset)
    for network in networks[1:]:
        total += posterior_cells(network, dataset)
    return total / len(networks)


def independent(dataset: Dataset) -> BayesianNetwork:
    """Return the network without arcs that has the proportions of the observed states.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [1], [1], [-1]]), ("a",), (("no", "yes"),))
    >>> independent(table).tables[0].round(2).tolist()
    [0.33, 0.67]
    """
    return fit_deletion(
        dataset,
        [()] * dataset.n_variables,
        method="aca",
        smoothing=0.0,
    ).model
