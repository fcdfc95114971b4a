"""The options of each command; the docstrings are what ``--help`` says.

The modules that do the work import the whole package, so that they are imported when they run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from exactlearn.commands import sections
from exactlearn.commands.declare import (
    Declared,
    argument,
    flags_of,
    names_option,
    option,
    pairs,
    registered,
    with_default,
)
from exactlearn.commands.sections import (
    IMPUTERS,
    METHODS,
    PRIORS,
    CountsName,
    FitMethod,
    KindName,
    PosteriorCountsName,
)
from exactlearn.errors import OptionError


def _prior(**about: Any) -> Any:
    """Return the field of a prior over networks: its name, or a file of beliefs."""
    return option(
        "uniform",
        reads=True,
        words=PRIORS,
        metavar="uniform|fair|FILE.csv",
        **about,
    )


class Run(sections.OnCluster):
    """Run a run file, or a bundled one by its name, and write everything into a folder.

    The pipeline: learn the network (and the values of missing cells); fit its parameters to the
    table as it was read, by EM where cells are missing; compile it to a decision graph; refine that
    by EM; report the log-likelihood of rows not learned from, if 'test' names some. Then come the
    steps: sections with the names of other commands and their options as keys ([query], [impute],
    ...). The folder is results/NAME unless -o names another; result.json
    there holds what --json prints, and run.toml the run with the paths of its tables.

    A section [sweep] has lists of values in place of one, as in 'score.ess = [1, 4]': a run for
    each combination of values, each in a folder of its own; sweep.json and sweep.csv have a row for
    each. A later call does the runs that are left. --cluster then does runs at once, and else the
    parts of the one run.

    With RESULT.json, a record that -o or --json of any command gave, or the folder of one, the
    command that made it is run again and the answers are compared: exit status 0 when they are
    equal, 5 when they differ. A file or a version that differs is named. Times are not compared,
    numbers with a relative tolerance of 1e-9; nothing is written unless -o names where.

    Parameters
    ----------
    seed
        Seed, in place of the run file's.
    time_limit
        Seconds for the whole run, or for each of a sweep.
    jobs
        Processes that do the runs of a sweep.
    allow_outside
        Let steps write files outside of the run's folder.

    Examples
    --------
    exactlearn run asia
    exactlearn run cancer --seed 1 -o cancer
    exactlearn run cancer/result.json
    """

    files_in_folder = (
        *("result.json", "network.bif", "network.svg", "trace.csv", "completed.csv"),
        *("model.pdg.json", "report.html", "runs.json", "sweep.json", "sweep.csv"),
    )
    source: str = argument("RUN.toml|RESULT.json", reads=True)
    seed: int | None = None
    time_limit: float | None = None
    jobs: int = 1
    allow_outside: bool = False


class OfTable(sections.Reading):
    """A command on a table."""

    source: str = argument("DATA.csv", reads=True, in_run="file")


class Kept(Declared):
    """A search whose finished parts are kept.

    Parameters
    ----------
    checkpoint
        Keep proven components and relaxations of the exact search in this folder; called again,
        the command goes on with them, also after a kill.
    """

    groups: ClassVar = {"Search": "*"}

    checkpoint: Path | None = option(None, writes=True, metavar="FOLDER", hidden=True)


class Solve(
    sections.CompleteLearning, Kept, sections.NetworkParameters, sections.Clustered
):
    """Learn the network that maximises the score of a table, with a proof or a bound.

    The input is a table, the name of a bundled one, or a file of local scores (.jkl, .scores). -o
    writes the NETWORK, the record (.json), a figure (.svg), or all of them into a folder, with the
    trace of the search, the support of arcs in several networks, and the averaged network of a
    bootstrap.

    Where cells are missing, the score is that of expected counts, under a network that structural
    EM learns first, without the constraints, so that scores with and without them can be compared;
    or with --counts of counts which deletion estimates for each family in closed
    form; proof and bound are those for these counts, and no cell is completed.

    With --solver ges or kes Markov equivalence classes of a complete table are searched instead,
    and nothing is proven.

    Ctrl-C and SIGTERM end the search with the best network so far (exit status 130); so do the
    limits (3).

    Parameters
    ----------
    solver
        Solver of parent-set selection, or greedy and k-greedy search over equivalence classes, ges
        and kes, this one with --greediness K and --restarts N.
    start
        Begin with this network or graph, or with that of an earlier result.
    prior
        Prior over networks: uniform, fair to each number of parents, or a CSV file with the columns
        parent, child and probability. Scores then hold its logarithm: the optimum is the most
        probable network.
    cell_weight
        Price in nats of each cell of the network's tables, for smaller networks, or auto: the
        largest whose networks predict held-out rows as well as any, by cross-validation. Status,
        score, bound and gap hold the price; the true score, what was given up of it and the size
        stand beside them.
    counts
        Counts of families with missing cells: expected under a network that structural EM
        learns; estimated without inference, by d-mcar and f-mcar where cells are missing
        completely at random, d-mar and f-mar where that depends on variables without missing
        cells, id-mar and if-mar where it depends on few of these, which are learned; or
        maximise the penalised node-average likelihood.
    gap
        Stop when no network is better by more than so many nats: with 2.3, none is more than ten
        times as probable, where scores are logarithms of probabilities.
    max_clique
        Configurations that the largest clique of the triangulated moral graph may have: the best
        network for fast inference, with a bound on the score of all such networks. Uses a time
        limit up, unless the network is proven before.
    threads
        Most threads to take.
    certificate
        Write the proof, for 'exactlearn verify'.
    probability
        Say how probable the network is among all that the options allow, and its Markov class; of
        --best how much the list holds, and each arc. By sums over all networks, which end at 20
        variables. Of at most 16 variables, and scores by bdeu or bic, it is said without asking.
    best
        List the K best networks, with the support of their arcs: of those that the candidates of a
        score file allow.
    classes
        List Markov equivalence classes in place of networks: with 2, what the best network that is
        not equivalent to the best one loses.
    greediness
        kes: share of the improving classes that is drawn at each step, of which the best is taken;
        1 is ges in one phase, 0 a random walk uphill.
    restarts
        kes: starts, from the empty network with other draws.
    bootstrap
        Learn from N bootstrap samples of the rows, too, and say in how many each arc is. Takes
        up to --time-limit again; into a folder, a later call goes on. Where cells are missing,
        a larger --ess than 1 makes these shares too high.

    Examples
    --------
    exactlearn solve asia-mnar-complete
    exactlearn solve lucas-mcar --max-parents 2 --time-limit 60 -o lucas
    exactlearn solve asia-mnar-complete --required 'smoke->lung' --best 3
    exactlearn solve asia-mnar-complete --solver kes --greediness 0.5 --restarts 20 --json
    """

    written_in_run = "solved"
    files_in_folder = (
        "result.json",
        "network.bif",
        "network.svg",
        "trace.csv",
        "bootstrap.json",
    )
    groups: ClassVar = {
        "Score": "prior cell_weight counts probability",
        "Search": "solver start gap max_clique threads greediness restarts",
        "Several networks": "best classes bootstrap",
        "Output": "certificate",
    }

    source: str = argument("DATA.csv|SCORES.jkl", reads=True, in_run="file")
    solver: str = option(
        "auto",
        choices=registered(
            "solvers.strategy.COMPONENT_SOLVERS",
            *("auto", *sections.CLASS_SEARCHES, *sections.SOLVERS),
        ),
    )
    start: str | None = option(
        None, reads=True, metavar="NETWORK|RESULT.json|GRAPH", hidden=True
    )
    prior: str = _prior(hidden=True)
    cell_weight: float | Literal["auto"] = option(0.0, hidden=True)
    counts: CountsName = "expected"
    gap: float = option(0.0, metavar="NATS", excludes=("best",), hidden=True)
    max_clique: int | None = option(
        None, least=1, metavar="STATES", excludes=("best", "certificate", "start")
    )
    threads: int | None = option(None, in_files=True)
    certificate: Path | None = option(
        None, writes=True, metavar="FILE", excludes=("best",)
    )
    probability: bool | None = option(None, flags=("--probability/--no-probability",))
    best: int | None = option(None, least=1, metavar="K")
    classes: bool = option(False, only="best")
    greediness: float = option(0.8, only="solver=kes", hidden=True)
    restarts: int = option(100, only="solver=kes", hidden=True)
    bootstrap: int | None = option(None, least=1, metavar="N")

    def __post_init__(self) -> None:
        """Refuse what a search over equivalence classes cannot honour."""
        super().__post_init__()
        if self.solver in sections.CLASS_SEARCHES:
            for name in filter(self.is_given, _NOT_OF_CLASSES):
                raise OptionError(
                    f"{flags_of(self.known()[name])[0]} cannot be honoured by a search over "
                    f"equivalence classes; leave it out, or --solver {self.solver}"
                )


_NOT_OF_CLASSES = (
    "start",
    "prior",
    "cell_weight",
    "counts",
    "gap",
    "max_clique",
    "checkpoint",
    "certificate",
    "best",
    "bootstrap",
    "scoring_time",
    "constraints",
    *sections.Constrained.known(),
)
"""Options of ``solve`` that have no meaning for equivalence classes."""


class Augment(OfTable, sections.IncompleteLearning, sections.Search, Kept):
    """Learn the network and the values of missing cells that maximise the score together.

    -o writes the completed table (.csv, .tsv), the NETWORK, the record (.json), a figure (.svg), or
    all of them into a folder.

    Of the constraints, arcs, forbidden adjacencies and tiers can be honoured while cells are
    missing; the others, and --scoring-time, are for complete tables ('exactlearn solve').

    Parameters
    ----------
    prior
        Prior over networks, as for 'solve': score and bound hold its logarithm.
    cell_weight
        Price in nats of each cell of the network's tables, as for 'solve': score and bound hold it.
    best
        List the K best solutions (network and completion), proven by branching.
    truth
        The same table without missing cells: how many are completed rightly.

    Examples
    --------
    exactlearn augment cancer-mcar --method t-local -o completed.csv
    exactlearn augment cancer-mcar --time-limit 20 --best 2 --json
    """

    written_in_run = "augmented"
    needs: ClassVar = {"not method=mode": ("t", "starts")}
    files_in_folder = (
        "result.json",
        "network.bif",
        "network.svg",
        "trace.csv",
        "completed.csv",
    )
    groups: ClassVar = {
        "Score": "prior cell_weight",
        "Several networks": "best",
        "Output": "truth",
    }

    prior: str = _prior(hidden=True, excludes=("best",))
    cell_weight: float = option(0.0, excludes=("best",))
    best: int | None = option(None, least=1, metavar="K")
    truth: str | None = option(None, reads=True, metavar="COMPLETE.csv")


class Imputing(sections.IncompleteLearning, sections.NetworkReading):
    """The learning of networks that complete tables.

    Parameters
    ----------
    ess
        Equivalent sample size of bdeu, or auto as for 'solve'.  [default: 1 as everywhere for
        methods of 'augment'; 10 for networks that predict cells: stacked, averaged, posterior,
        mpe, multiple, structural-em]
    max_parents
        Most parents of a variable, or 'none' for no limit.  [default: 3 for methods of
        'augment'; 2 for networks that predict cells]
    starts
        Starts, as for 'augment'.  [default: 10 for methods of 'augment'; 1 for networks that
        predict cells]
    smoothing
        Pseudo-count of every cell of a table.  [default: 0.25 for methods of 'augment'; 0.3 for
        networks that predict cells]
    learner
        How posterior, mpe and multiple learn networks, and impute's 'augmentation' finds its
        completion.  [default: structural-em; t-local for augmentation]
    networks
        stacked and averaged: networks to learn, each from a bootstrap sample of the rows in
        which missing cells are drawn.
    missingness
        stacked, averaged, posterior, mpe and multiple: learn, or not, whether cells are missing
        because of their own value or another variable's.  [default: learned for stacked, else
        ignored]
    """

    groups: ClassVar = {"Search": "learner networks missingness"}

    learner: sections.LearnerName | None = option(None, in_files=True)
    networks: int = 6
    missingness: sections.MissingnessName | None = None
    # The method's own where they are left out: `pipeline.settled` has the numbers.
    ess: float | Literal["auto"] | None = with_default(  # type: ignore[assignment]
        sections.IncompleteLearning, "ess", None
    )
    max_parents: int | Literal["none"] | None = with_default(  # type: ignore[assignment]
        sections.IncompleteLearning, "max_parents", None
    )
    starts: int | None = with_default(  # type: ignore[assignment]
        sections.IncompleteLearning, "starts", None
    )
    smoothing: float | None = with_default(  # type: ignore[assignment]
        sections.IncompleteLearning, "smoothing", None
    )


_OF_IMPUTERS = (
    *sections.Criterion.known(),
    *sections.SELECTION,
    *("t", "starts", "smoothing", "learner", "networks"),
)
"""Options that say how an imputer learns networks."""


class Impute(OfTable, Imputing):
    """Fill the missing cells of a table by models that are learned from it, or a given network.

    Prints the probability of each value. -o writes the completed table (.csv, .tsv), the record
    (.json), the NETWORK, or all of them into a folder; several drawn tables need a folder.

    Of the constraints, arcs, forbidden adjacencies and tiers can be honoured while cells are
    missing; the others, and --scoring-time, are for complete tables ('exactlearn solve').

    Parameters
    ----------
    method
        stacked: each cell's most probable state by averaged networks and logistic regressions
        together; averaged: the same by the mean over several networks; posterior: by one
        network; mpe: each row's most probable completion; augmentation: the completion that
        scores best with its network; multiple: several tables drawn from the posterior; mode:
        the most frequent states; or a method of 'compare'.  [default: stacked; posterior with
        --network]
    network
        Network to use in place of learning one.
    train
        Table to learn from, if not from DATA itself.
    draws
        multiple: tables to draw.

    Examples
    --------
    exactlearn impute asia-mnar -o completed.csv
    exactlearn impute asia-mnar --network asia --method multiple --draws 3 -o draws
    """

    written_in_run = "imputed"
    needs: ClassVar = {
        "not network or method=mode": _OF_IMPUTERS,
        "method=stacked|averaged|None": ("networks",),
    }
    files_in_folder = (
        "result.json",
        "network.bif",
        "network.svg",
        "completed.csv",
        "completed-*.csv",
    )

    method: str | None = option(
        None, choices=registered("imputation.methods.METHODS", *METHODS, *IMPUTERS)
    )
    network: str | None = option(
        None, reads=True, metavar="NETWORK", only="method=posterior|mpe|multiple|None"
    )
    train: str | None = option(
        None, reads=True, metavar="TRAIN.csv", excludes=("network",)
    )
    draws: int = option(5, only="method=multiple")

    @property
    def chosen_method(self) -> str:
        """The method, where none is named the default."""
        return self.method or ("stacked" if self.network is None else "posterior")


class Compare(Imputing, sections.OnCluster):
    """Compare methods of completing missing cells, or learners.

    Methods: give an incomplete table, with --truth if it is known; or one with --hide, where cells
    that are missing anyway are not judged; or a --network to draw from. Prints for each method
    imputation accuracy, score, bound, gap, seconds and the logarithmic loss of its probabilities,
    where it has these; over several drawings, means with standard errors, and whether accuracy and
    log-loss differ from the first method's, each row of a table being one unit. -o writes the rows
    as .json, or into a folder, where a later call goes on. --time-limit is that of each method on
    each table. Of the constraints, arcs, forbidden adjacencies and tiers can be honoured while
    cells are missing; the others, and --scoring-time, are for complete tables ('exactlearn solve').

    Learners: with --learners one table, complete or not, is divided into --folds; each learner's
    models are judged by rows that they were not learned from: log-likelihood per row, and with
    --class log-loss and accuracy of that variable, with paired differences from the best learner.

    Parameters
    ----------
    learners
        Compare learners by cross-validation: exact, bic, chow-liu, independent, naive-bayes, pdg.
    folds
        With --learners: parts that the rows are divided into.
    jobs
        Processes.
    methods
        Methods to compare: branching, exact, gadget, t-local, mode, structural-em,
        structural-em-hard, stacked, posterior, mpe, averaged, posterior-average, which takes each
        cell by all networks, and all completions where they are few; with scikit-learn also knn,
        iterative, logistic, mice, forest, boosted.  [default: branching,t-local,mode, with 60
        seconds for each and each table unless --time-limit says another limit]
    truth
        The table before cells were hidden.
    network
        Draw complete tables from a network.
    rows
        With --network: rows of each table.
    hide
        Hide cells of the tables, as 'simulate' does; repeatable.  [default with --network:
        mnar:2]
    repeat
        With --hide or --network: tables, with the seeds that follow --seed.
    class_
        With --learners: predict this variable from the others.

    Examples
    --------
    exactlearn compare cancer-mcar-complete --learners exact,chow-liu --folds 3 --class Cancer
    exactlearn compare asia-mnar --methods t-local,mode --truth asia-mnar-complete
    exactlearn compare --network cancer --hide mcar:0.1 --methods t-local,mode --repeat 2
    """

    files_in_folder = ("compare.json", "repetitions.json", "cross-validation.json")
    groups: ClassVar = {
        "Methods": "methods truth network rows hide repeat class_",
        "Learners": "learners folds",
        "Search": "jobs",
    }
    needs: ClassVar = {
        "not learners": (*_OF_IMPUTERS, "missingness"),
        "not network": tuple(sections.Reading.known()),
        "hide or network": ("repeat",),
    }

    source: str | None = argument(
        "[DATA.csv]", None, reads=True, in_run="file", unless=("network",)
    )
    learners: tuple[str, ...] | None = names_option(
        excludes=("methods", "truth", "network", "hide", "repeat"),
    )
    folds: int = option(10, only="learners")
    jobs: int = 1
    methods: tuple[str, ...] | None = names_option()
    truth: str | None = option(
        None,
        reads=True,
        in_run="truth",
        unless=("source", "network", "learners"),
        metavar="COMPLETE.csv",
    )
    network: str | None = option(None, reads=True, metavar="NETWORK")
    rows: int = option(100, least=1, only="network")
    hide: tuple[str, ...] = option((), metavar="MECHANISM:AMOUNT")
    repeat: int = option(20, least=1)
    class_: str | None = option(None, metavar="NAME", only="learners")


class Fit(sections.Clustered, sections.Random):
    """Estimate the parameters of a model with a given structure.

    A network's own parameters do not count. MODEL is also a graph without any (.json, as 'graph -o'
    writes it, or the record of a learner): its variables have the states of the table. -o writes
    the model with its new ones, in the format that it had. Ctrl-C ends EM with the best parameters
    of any start so far (exit status 130), and so does --time-limit (exit status 3).

    With missing cells, EM uses every observed cell and needs them to be missing at random. On ALARM
    and a fire alarm with fewer than 100,000 rows (docs/deletion.md) it was as accurate as the
    deletion estimators or more so, in at most a few seconds; they are for more rows, and for
    networks whose inference is too large.

    DATA is also a folder of Parquet files, or a pattern such as 'parts/*.csv'. These, and files
    that are large, are read in blocks, equal rows merged: memory is that of the distinct rows. A
    limit or Ctrl-C while reading leaves the parameters of the rows read so far.

    Parameters
    ----------
    method
        em: a model from all observed cells, by exact inference, the only method for a decision
        graph or a naive Bayes model. The others estimate a network in closed form, and print
        the rows that each family (a variable and its parents) used. complete, aca, d-mcar: in
        the rows that observe the whole family (available cases); cca: in the rows without
        missing cells; f-mcar: from all factorisations of the family, each factor in the rows
        that observe it; these need that which cells are missing depends on nothing (MCAR).
        d-mar, f-mar: the same as d-mcar and f-mcar in the rows that agree on all columns
        without missing cells, weighted; they also allow that which cells are missing depends on
        these columns (MAR). id-mar, if-mar: the same as d-mar and f-mar in the rows that agree
        on the separators only.  [default: complete for a network and a table without missing
        cells unless an option of em is given, else em]
    separators
        id-mar, if-mar: columns without missing cells on which it depends which cells are
        missing.  [default: learned for each column with missing cells, by BIC]
    missingness
        What the missing cells of each column depend on: a file, or the text itself as in
        'income <- age, income; children <- missing(income)'. Without --method each family is
        estimated by the formula that recovers it, if there is one; it is printed, and so is the
        reason where there is none and the rows that observe the family are counted instead. em:
        the network is fitted together with the probabilities that cells are missing. id-mar,
        if-mar: the separators.
    iterations
        em: most iterations.  [default: 100 for a decision graph, 1000 for a network]
    tolerance
        em: least gain of the smoothed log-likelihood per row to go on.  [default: 1e-06]
    smoothing
        Pseudo-counts for each parameter: equal ones for a network, which is estimated from the
        rows alone, and a naive Bayes model; rows of the graph as it was for a decision graph.
        [default: 0.25 for a network, 0.1 for a naive Bayes model; for a decision graph the number
        under which held-out rows are most probable, by cross-validation]
    starts
        em: starts, of which that with the best objective is kept; the others than the first are
        random.  [default: 1, of a network 5 where no row tells the states of a variable apart]
    start
        em: what the first start of a network begins with: the estimate of another method, such as
        f-mar or cca, or the parameters of a network in a file, its own among them.  [default:
        the frequencies in the rows that observe a family]
    time_limit
        Seconds after which no other block of rows is read and, of em, no other iteration and no
        other start begins.

    Examples
    --------
    exactlearn fit cancer cancer-mcar -o fitted.bif
    exactlearn fit cancer cancer-mcar --method f-mcar --json
    """

    source: str = argument("MODEL", reads=True, in_run="network.bif")
    table: str = argument("DATA.csv", reads=True, in_run="file")
    method: FitMethod | None = None
    separators: tuple[str, ...] | None = names_option(only="method=id-mar|if-mar")
    missingness: str | None = option(
        None, reads=True, metavar="GRAPH", only="method=em|id-mar|if-mar|None"
    )
    iterations: int | None = option(None, only="method=em|None")
    tolerance: float | None = option(None, only="method=em|None")
    smoothing: float | None = option(None, least=0, most=sections.MAX_SMOOTHING)
    starts: int | None = option(None, only="method=em|None")
    start: str | None = option(
        None,
        reads=True,
        metavar="METHOD|NETWORK",
        only="method=em|None",
        excludes=("missingness",),
    )
    time_limit: float | None = None

    @property
    def output_in_run(self) -> str:
        """The file that a step of a run writes."""
        suffixes = (s for s in (".pdg.json", ".nb.json") if self.source.endswith(s))
        return "fitted" + next(suffixes, ".bif")


class Compile(sections.ModelReading, sections.Reading, sections.Random):
    """Compile a network to the smallest decision graph found, and compare the two.

    -o writes the graph (.pdg.json), its record (.json) or its figure (.svg).
    Ctrl-C ends the search with the smallest graph so far (exit status 130), or with one of the
    first forests. The status is optimal if no forest has a smaller graph, which is proven for
    networks of up to eight variables.

    max_error is the largest |q - p| / p of the probabilities p and q that the network and the
    graph give to one row, over 1000 rows drawn from the network and 1000 drawn uniformly: 0.1 is
    10 %. It judges the rarest rows. With a limit of merging, loss is what merging lost in all: the
    Kullback-Leibler divergence of the graph from the network in nats, or with --data the
    log-likelihood per row in nats.

    Parameters
    ----------
    time_limit
        Seconds for all: where they do not suffice for a first graph, there is none, and exit
        status 2; what is too large to write in the time that is left is not written.  [default: a
        short search that does not depend on the machine]
    max_size
        Refuse graphs of more cells before merging, about 40 bytes each.
    merge
        exact: the smallest graph over a searched forest; none: the graph of a clique tree with a
        node for each configuration, from which the thesis begins to merge.
    root
        none: variable at the top of the graph.
    merge_budget
        Merge nodes that are nearly alike, up to this divergence from the network in nats; with
        --data, up to this loss of log-likelihood per row.
    data
        Collapse the nodes that no row reaches, fit the others to the rows, shrunk to the network as
        far as predicts held-out rows best, and merge by them.

    Examples
    --------
    exactlearn compile asia -o asia.pdg.json
    exactlearn compile asia --merge-budget 0.01 --data asia-mnar-complete
    exactlearn compile asia --merge none --root smoke
    """

    written_in_run = "compiled.pdg.json"
    needs: ClassVar = {"data": tuple(sections.Reading.known())}
    source: str = argument("NETWORK", reads=True, in_run="network.bif")
    time_limit: float | None = None
    max_size: int = 100_000_000
    merge: Literal["exact", "none"] = option("exact", excludes=("time_limit",))
    root: str | None = option(None, metavar="NAME", only="merge=none")
    merge_budget: float | None = None
    data: str | None = option(None, reads=True, metavar="DATA.csv")


class LearnPdg(sections.NetworkReading, OfTable, sections.Random):
    """Learn a probabilistic decision graph from a table.

    The table is a file or the name of a bundled one. -o writes the graph (.pdg.json), the record
    (.json) or its figure (.svg). Ctrl-C ends the search with the best graph so
    far (exit status 130), and so does --time-limit (exit status 3).

    Parameters
    ----------
    method
        hybrid: learn a network, compile it and merge, which predicts best; direct: splits, merges
        and redirections over a few forests, of a complete table; em: structural EM, with missing
        cells, from a tree and from networks.
    network
        Network whose graph the search starts from: direct beside its own starts, em in place of
        them.
    size_weight
        Weight of the size in (1-lambda) log-likelihood - lambda size.  [default: for hybrid with a
        complete table and without --smoothing by cross-validation, else that of BIC]
    parameters
        How structural EM estimates the parameters of each structure: by EM, or from available
        cases, the rows known to reach a node, or complete ones, without missing cells.
    significance
        Level of the tests of independence by which the direct search grows one more forest.
    smoothing
        Pseudo-count of every parameter.  [default: by cross-validation, for hybrid among
        parameters shrunk to those of the network as well; 1 with missing cells]
    time_limit
        Seconds for the search.

    Examples
    --------
    exactlearn learn-pdg asia-mnar-complete -o asia.pdg.json
    exactlearn learn-pdg cancer-mcar --size-weight 0.2 --time-limit 30
    """

    written_in_run = "learnt.pdg.json"
    method: Literal["hybrid", "direct", "em"] = "hybrid"
    network: str | None = option(None, reads=True, metavar="NETWORK")
    size_weight: float | None = None
    parameters: Literal["em", "available", "complete"] = option("em", only="method=em")
    significance: float | None = option(None, least=0, most=1, only="method=direct")
    smoothing: float | None = option(None, least=0, most=sections.MAX_SMOOTHING)
    time_limit: float | None = None


class LearnNb(OfTable, sections.Random):
    """Learn a naive Bayes model with a latent component from a table, which may miss cells.

    All variables are independent given the component, which is never observed. Their number grows
    by splits of components, each number is fitted by EM, and the model of the best score is taken,
    (1-lambda) log-likelihood - lambda free parameters.

    The table is a file or the name of a bundled one. -o writes the model (.nb.json) or the record
    (.json). Ctrl-C ends the search with the best model so far (exit status 130), and so does
    --time-limit (exit status 3).

    Parameters
    ----------
    components
        Number of components.  [default: that of the best score]
    size_weight
        Weight of the size in (1-lambda) log-likelihood - lambda size.  [default: that of BIC]
    smoothing
        Pseudo-count of every parameter.
    time_limit
        Seconds for the search.

    Examples
    --------
    exactlearn learn-nb cancer-mcar -o cancer.nb.json
    exactlearn learn-nb cancer-mcar --components 3 --json
    """

    written_in_run = "learnt.nb.json"
    components: int | None = None
    size_weight: float | None = None
    smoothing: float = option(0.1, least=0, most=sections.MAX_SMOOTHING)
    time_limit: float | None = None


class Query(sections.ModelReading):
    """Answer the posterior of the targets given the evidence, exactly.

    -o writes the answer as .json.

    Parameters
    ----------
    evidence
        An observation; a number that is no state means the bin that holds it; repeatable.
    do
        A variable of a network that is set by intervention, so that its parents do not matter;
        hidden common causes are assumed away; repeatable.
    targets
        Variable whose posterior is wanted; repeatable.  [default: all without evidence]
    best
        The K most probable explanations: states of all variables without evidence together, or
        with --target of the targets, the other variables summed out.
    map
        The most probable one of these (MAP), as --best 1.
    joint
        The joint posterior of the targets: the probability of each of their configurations.
    independences
        The independences that a decision graph states, and the contexts of its nodes.

    Examples
    --------
    exactlearn query asia -e smoke=yes -t lung
    exactlearn query asia --do bronc=yes -e dysp=yes -t smoke
    exactlearn query asia -e smoke=yes --best 2 --json
    exactlearn query asia -e dysp=yes -t lung -t bronc --map --joint
    """

    source: str = argument("MODEL", reads=True, in_run="model.pdg.json")
    evidence: Mapping[str, str] = option(
        {}, flags=("--evidence", "-e"), metavar="NAME=STATE", read=pairs
    )
    do: Mapping[str, str] = option({}, metavar="NAME=STATE", read=pairs)
    targets: tuple[str, ...] = option((), flags=("--target", "-t"), metavar="NAME")
    best: int | None = option(None, least=1, metavar="K")
    map: bool = option(False, excludes=("best",))
    joint: bool = False
    independences: bool = False


class Simulate(sections.ModelReading, sections.Random):
    """Draw rows from a model and hide cells; -o names the table to write.

    All commands read the table with the states of the model: where the text does not tell them, a
    file beside it lists them, as in table.csv.states.json. The same seed gives the same bytes.

    Parameters
    ----------
    rows
        Rows to draw.
    hide
        Hide cells: 'mcar:0.1' and 'mar:0.1' a share of them, 'mnar:2' that many of each
        variable, all of one state.
    missingness
        Hide cells by a missingness graph instead, a file or its text as in 'income <- age,
        income', with probabilities drawn uniformly.
    complete
        Also write the table before cells were hidden.

    Examples
    --------
    exactlearn simulate asia --rows 50 --hide mcar:0.1 -o table.csv --complete truth.csv
    exactlearn simulate asia --missingness 'lung <- smoke, lung' -o table.csv
    """

    written_in_run = "simulated.csv"
    source: str = argument("MODEL", reads=True, in_run="network.bif")
    rows: int = option(100, least=1)
    hide: str | None = option(
        None, metavar="MECHANISM:AMOUNT", excludes=("missingness",)
    )
    missingness: str | None = option(None, reads=True, metavar="GRAPH")
    complete: Path | None = option(None, writes=True)


class Convert(sections.ModelReading, sections.CompleteLearning, sections.Clustered):
    """Write a file in the format of the suffix of -o.

    A NETWORK as a NETWORK, .pdg.json or a figure (.svg); a decision graph (.pdg.json) as
    .pdg.json, as a network with auxiliary variables for its nodes, or as a figure; a table (.csv,
    .tsv, .parquet) as a table or as its local scores (.jkl, .scores); these as scores, or as an
    integer program for other solvers (.lp, .mps, .cip). '.gz' may follow a text's suffix.

    Parameters
    ----------
    candidate_parents
        Score only parents among the K variables with the highest mutual information, block by
        block: for tables of any length, and of many variables.
    unpruned
        Keep the parent sets that no best network has, since a subset scores better: sums over all
        networks ('posterior') and lists of the best ones ('solve --best') need them.

    Examples
    --------
    exactlearn convert asia -o asia.svg
    exactlearn convert asia-mnar-complete --max-parents 2 -o scores.jkl
    """

    source: str = argument("FILE", reads=True)
    candidate_parents: int | None = option(
        None, metavar="K", excludes=("scoring_time",)
    )
    unpruned: bool = option(False, excludes=("scoring_time", "candidate_parents"))

    def unused(self) -> dict[str, str]:
        """Return the given options that have no effect on a file of this kind."""
        from exactlearn._runtime.files import suffix_of
        from exactlearn.formats.models import FORMATS
        from exactlearn.formats.scores import is_score_file

        path = Path(self.source)
        if is_score_file(path):
            kind = "local scores"
            allowed = [*sections.Constrained.known(), "constraints"]
        elif suffix_of(path) in FORMATS or _is_bundled_network(path):
            kind = "a model"
            allowed = ["normalise"]
        else:
            return super().unused()
        # A file of each kind has few options: all others get the same reason.
        names = [name for name in self.known() if name not in ("source", *allowed)]
        reason = f"has no effect on {kind}, found {self.source}: leave it out"
        return dict.fromkeys(filter(self.is_given, names), reason)


def _is_bundled_network(path: Path) -> bool:
    """Return whether a name is that of a bundled network."""
    from exactlearn.instances import bundled

    return not path.exists() and f"{path}.bif" in {file.name for file in bundled()}


class Report(sections.ModelReading):
    """Write one HTML page on results: data, network, decision graph, search and how it was made.

    RESULT is the folder that a command wrote with -o, its record (.json) or a model. The page is
    one file that loads nothing; sections that the result has nothing for are left out. -o names the
    page; without it the page is report.html in the folder, or lies beside the file.

    Examples
    --------
    exactlearn solve asia-mnar-complete --best 3 -o asia
    exactlearn report asia
    exactlearn report asia/network.bif -o network.html
    """

    source: Path = argument("RESULT")


class Verify(Declared):
    """Check that no network scores more than a certificate claims.

    CERTIFICATE is what 'solve --certificate' wrote, SCORES the file of local scores it is about
    (.jkl or .scores). -o writes the answer as .json.

    Exit status: 0 when the claim is proven, 5 when it is not, 2 when a file cannot be read.

    Examples
    --------
    exactlearn convert asia-mnar-complete -o scores.jkl
    exactlearn solve scores.jkl --certificate proof.json
    exactlearn verify proof.json scores.jkl
    """

    certificate: Path = argument("CERTIFICATE", reads=True)
    scores: Path = argument("SCORES", reads=True)


class Evaluate(sections.ModelReading, sections.Clustered, sections.Random):
    """Judge a model by rows that it was not learned from, or by a reference model.

    DATA gives the log-likelihood per row, of the observed cells where some are missing, in nats,
    and the rows of probability zero; with --class also the share of labelled rows whose label is
    predicted right. Columns that the model lacks are left out, whatever
    they hold, with a note. Rows count by --weights. Numbers go into the bins of the model, not
    into those of --discretise. Large files, folders of Parquet files and patterns such as
    'parts/*.csv' are read in blocks.

    --reference gives the Kullback-Leibler divergence KL(reference || model) in nats, sampled with a
    95 % interval where the exact one is too costly; for two networks also the structural Hamming
    distance (shd), the number of pairs of variables whose edge differs, the same between their
    Markov equivalence classes (cpdag_shd), and precision, recall and F1 of arcs with their
    direction (arc_precision, arc_recall, arc_f1) and of edges without (edge_precision, edge_recall,
    edge_f1).

    -o writes the record (.json).

    Parameters
    ----------
    reference
        Model to compare with, over the same variables.
    class_
        With DATA: predict this variable from the others.

    Examples
    --------
    exactlearn evaluate asia asia-mnar-complete --class lung
    exactlearn evaluate cancer --reference cancer --json
    """

    source: str = argument("MODEL", reads=True, in_run="model.pdg.json")
    needs: ClassVar = {"data": tuple(sections.Clustered.known())}

    data: str | None = argument("[DATA.csv]", None, reads=True, in_run="test")
    reference: str | None = option(None, reads=True, metavar="MODEL")
    class_: str | None = option(None, metavar="NAME")


class Graph(Declared):
    """Show the structure of a network, its equivalence class and its independences.

    The source is a NETWORK, the record of a learner (.json) or a graph (.json), which
    may be a pattern or a CPDAG. The record is a graph file, with kind, variables, arcs and
    undirected edges (edges), and has the number of DAGs in the Markov equivalence class
    (class_size), the edges that they direct differently (reversible), the v-structures
    (v_structures) and, of a DAG, the covered arcs (covered); what else is asked for stands under
    blanket, independence and comparison.

    -o writes the record (.json), which is a graph file, or draws it (.svg), undirected edges
    without heads.

    Parameters
    ----------
    to
        Show and write the CPDAG of the class, its pattern, in which only v-structures are
        directed, or a DAG of it.  [default: the graph as it is]
    variable
        Parents, children and Markov blanket of a variable, in a DAG of the class.
    independent
        Whether A and B are d-separated given C and D, or the arcs of an active trail.
    reference
        Another graph over the same variables: structural Hamming distances, and precision,
        recall and F1 of arcs and of edges, as in 'evaluate'.

    Examples
    --------
    exactlearn graph asia --variable lung
    exactlearn graph asia --to cpdag -o cpdag.svg
    exactlearn graph asia --independent 'asia,smoke|dysp'
    """

    source: str = argument(
        "NETWORK|RESULT.json|GRAPH", reads=True, in_run="network.bif"
    )
    to: KindName | None = None
    variable: str | None = option(None, metavar="NAME")
    independent: str | None = option(None, metavar="'A,B|C,D'")
    reference: str | None = option(None, reads=True, metavar="GRAPH")


class Posterior(sections.Reading, sections.Criterion, sections.Limited):
    """Sum over all networks: the certainty of arcs and networks, exactly or by sampling.

    Prints the probability of each arc, of an arc in either direction, and of an ancestor, and that
    of the best network and of its Markov class. The input is a table, the name of a bundled one,
    or a file of local scores that has all parent sets a network may have.

    Where more than 20 variables may form cycles with each other, networks are sampled, and each
    probability has a standard error; tiers and forbidden arcs make parts.
    Constraints are required and forbidden arcs, tiers and largest numbers of parents. Where cells
    are missing, the answer is the average over all their values, if that takes some ten seconds,
    with the probability of each value; else it is one for expected counts.

    -o writes the record (.json), the arcs (.csv), a figure with edges as wide as they are probable
    (.svg), or all of them into a folder, with the networks of --samples.

    Parameters
    ----------
    prior
        Prior over networks: uniform, fair to each number of parents, or a CSV file with the columns
        parent, child and probability, where all other arcs have one half.
    counts
        average: over all values of missing cells, exactly, or by Markov chains where these are too
        many; auto: exactly where that takes some ten seconds, else 'expected'; else counts of
        families with missing cells, as for 'solve'.
    method
        exact: sums over all networks; sampled: Markov chains over networks, until all arcs have
        standard errors below .01, and for 60 seconds at most where there is no --time-limit; auto:
        sums where at most 20 variables may form cycles with each other.
    samples
        Draw so many networks from the posterior.

    Examples
    --------
    exactlearn posterior asia-mnar-complete
    exactlearn posterior lucas-mcar-complete --max-parents 2 -o lucas.svg
    exactlearn posterior asia-mnar-complete --prior fair --required 'smoke->lung' --json
    """

    files_in_folder = ("result.json", "arcs.csv", "posterior.svg")
    groups: ClassVar = {"Score": "prior counts", "Search": "method samples"}

    source: str = argument("DATA.csv|SCORES.jkl", reads=True, in_run="file")
    prior: str = _prior()
    counts: PosteriorCountsName = "auto"
    method: Literal["auto", "exact", "sampled"] = "auto"
    samples: int = option(0, least=0, metavar="N")


class Missingness(OfTable, sections.Random):
    """Diagnose the missing cells of a table, and recommend an estimator for networks.

    Prints the share of missing cells of each variable, the most frequent patterns of missing cells,
    tests of whether cells are missing depending on other variables (adjusted for the false
    discovery rate), the missingness graph that is learned from the table, and which method of 'fit'
    to use and why. That a cell is missing because of its own value cannot be tested.

    -o writes the record (.json), or the learned graph (.missingness).

    Examples
    --------
    exactlearn missingness asia-mnar
    exactlearn missingness asia-mnar -o learned.missingness
    """


class Instances(Declared):
    """List the bundled instances, or those named, or copy them with -o FOLDER.

    A name stands for all its files ('asia' for asia.bif and asia.toml); a file name for itself.

    Examples
    --------
    exactlearn instances
    exactlearn instances asia -o copies
    """

    names: tuple[str, ...] = argument("[NAME]...", ())
