"""The t-local hill-climber over completions.

Adel and de Campos, "Approximate algorithm": restrict the exact method to the completions within
Hamming distance ``t`` of the current one, solve it, move there, and repeat until the completion
stays (Theorem 4: the pair is then optimal among all DAGs and all completions within distance t).

Between two such steps the climber takes cheaper ones that never lower the score
(:mod:`exactlearn.augmentation.local_search.climb`).
"""

from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from exactlearn._runtime.interrupts import interruptible
from exactlearn._runtime.threads import n_threads
from exactlearn.augmentation.local_search.climb import climb, climb_in_orders
from exactlearn.augmentation.local_search.family_store import fits
from exactlearn.augmentation.local_search.unproven import Unproven
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.result import Augmentation, AugmentationStatus
from exactlearn.augmentation.solution import Pair
from exactlearn.augmentation.starts import Start, mode_completion, starting_completions
from exactlearn.augmentation.task import LimitReachedError, Task, between_blocks
from exactlearn.errors import OptionError

LOCAL_IN_THE_GRAPH = (
    "the guarantee is local in the graph, too: no other value of a single cell improves the score "
    "with any identified parent sets that fit the order of the DAG's variables; the DAG is the "
    "best one found, not proven best"
)
"""What holds where DAGs are not proven best."""


def augment_local(task: Task, incumbent: Incumbent, *, t: int, starts: int) -> Augmentation:
    """Climb from several completions; return the best t-local optimum.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside. With the solver ``ordering``, or
        where there are too many families to look at all, nothing is proven, which status and
        message say.
    incumbent
        Where the best pair and the clock are kept.
    t
        Radius of the neighbourhood, at least 1.
    starts
        Number of starts: see :func:`~exactlearn.augmentation.starts.starting_completions`. They run
        side by side; two that begin with the same completion are climbed once.

    Raises
    ------
    OptionError
        When ``t`` or ``starts`` is below 1.
    """
    if t < 1 or starts < 1:
        raise OptionError(f"t and starts must be at least 1, found t = {t}, starts = {starts}")
    status: AugmentationStatus = "t-local"
    message = ""
    unproven: Unproven | None = None
    provable = is_tabulated(task)
    try:
        with interruptible():
            incumbent.confirm(best_climb(task, incumbent, starts, t))
    except LimitReachedError as limit:
        offer_sparsest(task, incumbent)
        status, unproven = limit.status, incumbent.unproven
        message = _left("stopped", unproven)
    except KeyboardInterrupt:
        status, unproven = "interrupted", incumbent.unproven
        message = _left("interrupted", unproven)
    if status == "t-local" and not provable:
        status, message = "heuristic", LOCAL_IN_THE_GRAPH
    elif status == "t-local" and t >= len(task.dataset.missing_cells):
        status, incumbent.bound = "optimal", incumbent.score
    return Augmentation.of(incumbent, status, "t-local", t=t, message=message, unproven=unproven)


def _left(how: str, unproven: Unproven | None) -> str:
    """Tell what a search that was stopped has left open."""
    if unproven is not None and unproven.is_nothing:
        return f"{how} before all starts were climbed; {unproven.told}"
    told = "none of its changes is bounded yet" if unproven is None else unproven.told
    return f"{how} before t-local optimality was proven: {told}"


def is_tabulated(task: Task) -> bool:
    """Tell whether all families are looked at, so that the climber can prove what it claims."""
    return task.solver != "ordering" and fits(task.dataset, task.rules)


def best_climb(task: Task, incumbent: Incumbent, starts: int, t: int | None) -> Pair:
    """Climb from every start, several at once; return the first of the best pairs.

    Without a radius, or where not all families are looked at, nothing is proven.
    """
    tabulated = is_tabulated(task)
    climbing: dict[bytes, Start] = {}
    climbed: dict[bytes, Pair] = {}

    def work(start: Start) -> bytes:
        values = start.completion(task, incumbent)
        name = values.tobytes()
        if climbing.setdefault(name, start) is start:
            climbed[name] = (
                climb(task, incumbent, values, t)
                if tabulated
                else climb_in_orders(task, incumbent, values)
            )
        return name

    begin = list(starting_completions(task, starts, fitted=tabulated))
    with ThreadPoolExecutor(min(n_threads(None), len(begin))) as pool:
        try:
            climbs = [pool.submit(work, start) for start in begin]
            ended, _ = wait(climbs, return_when=FIRST_EXCEPTION)
            for ended_climb in ended:
                ended_climb.result()  # what it raised, before others are told to stop
            return max((climbed[c.result()] for c in climbs), key=lambda pair: pair.score)
        except BaseException:
            incumbent.stop()
            pool.shutdown(cancel_futures=True)
            incumbent.resume()
            raise


def offer_sparsest(task: Task, incumbent: Incumbent) -> None:
    """Offer the mode completion with as few arcs as may be where a limit came before any pair."""
    if incumbent.parents is None:
        incumbent.offer(task.sparsest(mode_completion(task.dataset)))


def augment_mode(task: Task, incumbent: Incumbent) -> Augmentation:
    """Fill in each variable's most frequent state, then learn the best DAG: the baseline."""
    values = mode_completion(task.dataset)
    try:
        families = task.families(values, pause=between_blocks(incumbent))
        result = task.solve(families, incumbent)
    except LimitReachedError as limit:
        offer_sparsest(task, incumbent)
        return Augmentation.of(incumbent, limit.status, "mode", message="stopped before any search")
    assert result.parents is not None
    incumbent.offer(task.pair(result.parents, values))
    status: AugmentationStatus = "heuristic" if result.status == "optimal" else result.status
    if status == "heuristic" and task.dataset.is_complete:
        status, incumbent.bound = "optimal", incumbent.score
    return Augmentation.of(incumbent, status, "mode", message=result.message)
