"""A bound on a component that is computed beside a heuristic search.

At first the quick multipliers of a dual ascent, then those of the cutting planes. A component with
choices keeps the sum of its best scores.
"""

from threading import Event, Thread

from ..components import Component
from ..lp.multipliers import Multipliers
from ..lp.root import MOST_ROUNDS, solve_root
from ..progress import OutOfTime


class Bounding:
    """Lowers the bound of a component in a thread of its own.

    Parameters
    ----------
    component
        What to bound.
    score
        Score of a selection: the bound need not fall below it.
    relaxations
        How many linear programs to solve at most.

    Attributes
    ----------
    bound
        The lowest so far.
    """

    def __init__(self, component: Component, score: float, relaxations: int) -> None:
        self.component = component
        self.score = score
        self.rounds = relaxations
        self.bound = component.relaxation
        self.failure: BaseException | None = None
        self._stopped = Event()
        # no daemon: a linear program that is still being solved when Python ends would abort it
        self._thread = Thread(target=self._run)
        if not len(component.choices):
            self._thread.start()

    def stop(self) -> None:
        """Stop soon."""
        self._stopped.set()

    def wait(self, seconds: float) -> bool:
        """Wait some seconds for the last bound; tell whether it has come."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        if self.failure is not None:
            raise self.failure
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            solve_root(
                self.component,
                self.score,
                pause=self._pause,
                on_bound=self._take,
                rounds=min(MOST_ROUNDS, self.rounds),
            )
        except OutOfTime:
            return
        except BaseException as failure:  # raised again by the thread that waits
            self.failure = failure

    def _pause(self) -> None:
        if self._stopped.is_set():
            raise OutOfTime

    def _take(self, bound: float, multipliers: Multipliers) -> None:
        self.bound = min(self.bound, bound)
