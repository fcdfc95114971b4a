"""Learners side by side by cross-validation: what their models predict of rows not learnt from.

The rows are divided into folds. Each learner learns from all folds but one, for each fold, and is
judged by that one. Differences of two learners are taken fold by fold, so that what makes a fold
hard does not count; their standard error is that of the folds' mean. As the tables that are learnt
from overlap, it is too small rather than too large, and no unbiased one exists (Bengio and
Grandvalet 2004, "No unbiased estimator of the variance of k-fold cross-validation").
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isfinite, isnan, log
from pathlib import Path
from pprint import pformat
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from exactlearn._runtime.argument_kinds import as_names
from exactlearn._runtime.arguments import checked_arguments, named
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.variable_arguments import name_of
from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.component_growth import learn_naive_bayes
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.smoothing_choice import divided
from exactlearn.data.counts import weighted_mean
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.evaluation.metrics import LEAST_PROBABILITY, Mean
from exactlearn.evaluation.study import Found, PlannedRun, Study
from exactlearn.pdg.learn.methods import learn_pdg
from exactlearn.pdg.learn.starts import chow_liu_parents
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.model_graphs import Model
from exactlearn.queries.posteriors import classify
from exactlearn.structure.learned_network import LearnedNetwork
from exactlearn.structure.learning import learn
from exactlearn.structure.selection import fitted_network

if TYPE_CHECKING:
    import pandas as pd

Learner = Callable[[Dataset], Any]
"""Makes a model, or a graph, of a table."""


def learn_exact(dataset: Dataset, **options: Any) -> LearnedNetwork:
    """Learn the network of the best score, by :func:`exactlearn.learn` with its options.

    Columns with one declared state, or without an observed cell, are left out without a warning: a
    sample of the rows of a table may have some.
    """
    # Scores need two declared states of each variable, and counts an observed cell.
    is_observed = (dataset.codes >= 0).any(axis=0)
    kept = np.flatnonzero(is_observed & (dataset.cardinalities > 1)).tolist()
    usable = replace(
        dataset,
        codes=dataset.codes[:, kept],
        names=tuple(dataset.names[v] for v in kept),
        states=tuple(dataset.states[v] for v in kept),
    )
    return learn(usable, time_limit=SearchControl.within().remaining, **options)


def _with_parameters(
    dataset: Dataset, parents: Sequence[Sequence[int]]
) -> BayesianNetwork:
    """Return the network with some parents, its parameters fitted to a table."""
    left = SearchControl.within().remaining
    return fitted_network(dataset, parents, smoothing=SMOOTHING, time_limit=left)[0]


def learn_chow_liu(dataset: Dataset) -> BayesianNetwork:
    """Learn the tree of Chow and Liu (1968): the most likely one, by mutual information."""
    return _with_parameters(dataset, chow_liu_parents(dataset))


def learn_independent(dataset: Dataset) -> BayesianNetwork:
    """Learn the network without arcs."""
    return _with_parameters(dataset, ((),) * dataset.n_variables)


def learn_mixture(dataset: Dataset, seed: int = 0) -> NaiveBayes:
    """Learn a naive Bayes model with a hidden class; BIC chooses the number of its states."""
    return learn_naive_bayes(dataset, seed=seed).model


def learn_decision_graph(dataset: Dataset, seed: int = 0) -> DecisionGraph:
    """Learn a decision graph, by :func:`exactlearn.learn_pdg`."""
    return learn_pdg(dataset, seed=seed).graph


LEARNERS: Mapping[str, Learner] = {
    "exact": learn_exact,
    "bic": partial(learn_exact, score="bic"),
    "chow-liu": learn_chow_liu,
    "independent": learn_independent,
    "naive-bayes": learn_mixture,
    "pdg": learn_decision_graph,
}


def named_learner(name: str) -> Learner:
    """Return the learner of a name.

    Raises
    ------
    OptionError
        When there is none.
    """
    if name not in LEARNERS:
        raise OptionError(
            f"no learner {name!r}{did_you_mean(name, LEARNERS)}; "
            "in Python a function of a table is one, too"
        )
    return LEARNERS[name]


def learner_identity(learner: Learner) -> str:
    """Return the text by which stored runs of a learner are recognised when they are resumed.

    It is the full name of the function, with the arguments of a partial one.
    """
    if isinstance(learner, partial):
        # Sorts dictionaries and sets, so that equal arguments give one text in all processes.
        keywords = pformat(learner.keywords, width=1, compact=True)
        return f"{learner_identity(learner.func)} {learner.args!r} {keywords}"
    return f"{learner.__module__}.{getattr(learner, '__qualname__', repr(learner))}"


RECORD = "cross-validation.json"
"""The file, in its folder, of the folds that are done."""

MEASURES = ("log_likelihood", "log_loss", "accuracy")
"""Of each fold: log-likelihood per row; log-loss and accuracy of the class, if there is one."""


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(ByValue, shown="learners folds best"):
    """Measures of the models of some learners on each fold.

    Parameters
    ----------
    learners
        Their names.
    folds
        Number of folds.
    found
        By learner and measure (`MEASURES`, and ``seconds`` of CPU time), the measure of each fold,
        in nats, or for the accuracy as a proportion; NaN of a fold that is not done, or failed.
    failures
        By learner, why models could not be learnt, each reason once.

    Examples
    --------
    >>> of_exact = {"log_likelihood": (-2.1, -2.3), "seconds": (0.2, 0.2)}
    >>> of_tree = {"log_likelihood": (-2.2, -2.5), "seconds": (0.1, 0.1)}
    >>> compared = CrossValidation(("exact", "tree"), 2, {"exact": of_exact, "tree": of_tree})
    >>> compared.best, compared.measures, compared.mean("tree").value
    ('exact', ('log_likelihood',), -2.35)
    >>> round(compared.difference("tree", "exact").value, 3)
    -0.15
    >>> compared.to_records()[1]["folds"], compared.to_frame()["learner"].tolist()
    (2, ['exact', 'tree'])
    """

    learners: tuple[str, ...]
    folds: int
    found: Mapping[str, Mapping[str, tuple[float, ...]]]
    failures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """Those of `MEASURES` that the folds have."""
        first = self.found[self.learners[0]]
        return tuple(measure for measure in MEASURES if measure in first)

    @property
    def best(self) -> str:
        """The learner of the highest mean log-likelihood per row, the first of equal ones.

        One that failed in all folds comes after all others, even after those of minus infinity.
        """
        means = {name: self.mean(name).value for name in self.learners}
        return max(means, key=lambda name: (not isnan(means[name]), means[name]))

    def mean(self, learner: str, measure: str = "log_likelihood") -> Mean:
        """Return the mean over the folds that are done, with its standard error.

        The mean is minus infinity where the measure of any fold is.
        """
        return Mean.of(self._of(learner, measure))

    def difference(
        self, first: str, second: str, measure: str = "log_likelihood"
    ) -> Mean:
        """Return the mean of the folds' differences with its standard error."""
        pairs = zip(self._of(first, measure), self._of(second, measure), strict=True)
        return Mean.of(a - b for a, b in pairs)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record for each learner, with the differences from the best one.

        Of each measure ``NAME``: its mean, ``NAME_error``, ``NAME_difference`` and
        ``NAME_difference_error``; also ``seconds``, ``folds`` (those done) and ``failures``.
        """
        rows = []
        for name in self.learners:
            row: dict[str, Any] = {"learner": name}
            for measure in self.measures:
                mean = self.mean(name, measure)
                # Differences are taken fold by fold, so that hard folds do not count.
                difference = self.difference(name, self.best, measure)
                row |= {
                    measure: mean.value,
                    f"{measure}_error": mean.error,
                    f"{measure}_difference": difference.value,
                    f"{measure}_difference_error": difference.error,
                }
            seconds = self._of(name, "seconds")
            row["seconds"] = Mean.of(seconds).value
            row["folds"] = sum(map(isfinite, seconds))
            row["failures"] = "; ".join(self.failures.get(name, ()))
            rows.append(row)
        return rows

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row for each learner, with the columns of `to_records`."""
        import pandas as pd

        return pd.DataFrame(self.to_records())

    def _of(self, learner: str, measure: str) -> tuple[float, ...]:
        """Return the measure of each fold."""
        if learner not in self.found or measure not in self.found[learner]:
            raise OptionError(
                f"no {measure!r} of {learner!r}: expected one of {', '.join(self.measures)} of one "
                f"of {', '.join(self.learners)}"
            )
        return self.found[learner][measure]


@checked_arguments(class_=named(name_of))
def cross_validate(
    dataset: DatasetLike,
    learners: Sequence[str] | Mapping[str, Learner],
    folds: int = 10,
    *,
    class_: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    folder: str | Path | None = None,
    time_limit: float | None = None,
    cluster: Any = None,
    on_begin: Callable[[str], None] = lambda title: None,
    tidy: bool = False,
) -> CrossValidation:
    """Compare learners by the predictions of their models for rows not learnt from.

    Parameters
    ----------
    dataset
        Rows, with or without missing cells; of a row judged by, missing cells are summed out.
    learners
        Names in :data:`LEARNERS`, or functions by name that make a network, a decision graph or a
        naive Bayes model, or what has a ``network``, of a table.
    folds
        Number of folds, at least 2; fewer for fewer rows.
    class_
        A variable to predict from the others' observed cells: log-loss and accuracy are those of
        the rows that have it.
    seed
        Of the division into folds, which is the same for all learners.
    jobs, folder, time_limit, cluster, on_begin
        As for :func:`~exactlearn.evaluation.bootstrap.bootstrap`.
    tidy
        For frames and arrays: as for :meth:`exactlearn.Dataset.from_frame`.

    Raises
    ------
    OptionError
        When there is no learner of a name, no such variable, or there are too few folds.
    DataError
        When there are fewer than two rows.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> compared = cross_validate(table, ["exact", "independent"], folds=3)
    >>> compared.best, compared.difference("exact", "independent").value > 0
    ('exact', True)
    """
    if not isinstance(learners, Mapping):
        names = as_names(learners, "learners")
        learners = {name: named_learner(name) for name in names}
    if not learners:
        raise OptionError(
            "no learner: give the names of some, as in learners=['exact', 'bic']"
        )
    measures = [*MEASURES[:1], "seconds"]
    if class_ is not None:
        dataset.index(class_)
        measures = [*MEASURES, "seconds"]
    folds = divided(dataset.row_weights, folds, seed).n
    runs = _planned(dataset, learners, folds, seed, class_)
    control = SearchControl.within(time_limit)
    path = Path(folder, RECORD) if folder else None
    study = Study([*runs.values()], path, jobs, cluster, on_begin, control)
    study.run()
    # The measures of each fold; a learner may have failed in some folds only.
    measured = {}
    failures: dict[str, tuple[str, ...]] = {}
    for name in learners:
        records = [study.known(runs[name, k]) or {} for k in range(folds)]
        measured[name] = {key: _measured(records, key) for key in measures}
        errors = dict.fromkeys(x["error"] for x in records if "error" in x)
        if errors:
            failures[name] = tuple(errors)
    return CrossValidation(tuple(learners), folds, measured, failures)


def _planned(
    dataset: Dataset,
    learners: Mapping[str, Learner],
    folds: int,
    seed: int,
    class_: str | None,
) -> dict[tuple[str, int], PlannedRun]:
    """Return the run of each learner and fold, all learners of a fold before the next."""
    settings = f"{dataset.digest} folds {folds} seed {seed} class {class_}"
    runs = {}
    for k in range(folds):
        for name, learner in learners.items():
            work = partial(_run, dataset, learner, folds, k, seed, class_)
            of_learner = f"{learner_identity(learner)} {settings}"
            runs[name, k] = PlannedRun(f"fold {k + 1}: {name}", work, of_learner)
    return runs


def _run(
    dataset: Dataset,
    learner: Learner,
    folds: int,
    fold: int,
    seed: int,
    class_: str | None,
) -> Found:
    """Learn from all folds but one, and judge by that one."""
    parts = divided(dataset.row_weights, folds, seed)
    # Learn, by the clock of the processor: other runs may share the machine.
    begun = process_time()
    learned = learner(parts.part(dataset, parts.fold != fold))
    seconds = process_time() - begun
    model: Model = learned.network if hasattr(learned, "network") else learned
    # Judge by the rows of the fold.
    test = parts.part(dataset, parts.fold == fold)
    if left_out := set(dataset.names) - set(model.names):
        raise OptionError(
            f"the model lacks {', '.join(sorted(left_out))}: a learner may leave out columns with "
            "one declared state, or missing in all rows of a training table; leave that column out "
            "of the table, or take fewer folds"
        )
    total = test.total(model.log_likelihood_rows(test)) / float(test.row_weights.sum())
    record = {"log_likelihood": total, "seconds": seconds}
    if class_ is None:
        return record
    classes = classify(model, test, class_)
    if not classes.labelled_weights.any():  # no row of the fold has the class
        return record
    # No row may make the loss infinite.
    losses = np.minimum(classes.losses, -log(LEAST_PROBABILITY))
    log_loss = weighted_mean(losses, classes.labelled_weights)
    return record | {"log_loss": log_loss, "accuracy": classes.accuracy}


def _measured(records: Sequence[Found], measure: str) -> tuple[float, ...]:
    """Return a measure of each fold from the records of its runs.

    NaN where the run failed, is not done or has no such measure; minus infinity where the record
    has ``None``, as which JSON keeps it.
    """
    numbers = []
    for record in records:
        is_whole = "error" not in record and not record.get("unfinished")
        number = record.get(measure, np.nan) if is_whole else np.nan
        numbers.append(-inf if number is None else number)
    return tuple(numbers)
