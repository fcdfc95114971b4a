"""EM refinement of a decision graph, told while it runs; shared by ``fit`` and ``run``."""

from collections.abc import Callable

from exactlearn.commands.output import Output
from exactlearn.data import Dataset
from exactlearn.parameters.network_em import EMState
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pdg.refine import Refinement, RefinementState, refine
from exactlearn.progress import Narration
from exactlearn.report import number
from exactlearn.runs import GraphParameters


def refined(
    graph: DecisionGraph, data: Dataset, options: GraphParameters, output: Output
) -> Refinement:
    """Refine the parameters of a decision graph on a table with missing cells, as declared."""
    with Narration("EM", quiet=output.quiet, verbose=output.verbose) as narration:
        return refine(
            graph,
            data,
            iterations=options.iterations,
            tolerance=options.tolerance,
            alpha=options.smoothing,
            on_iteration=telling(narration),
        )


def telling(narration: Narration) -> Callable[[RefinementState | EMState], None]:
    """Return what tells each iteration of EM."""

    def tell(state: RefinementState | EMState) -> None:
        narration.tell(
            f"iteration {state.iteration}  log-likelihood {number(state.log_likelihood)}"
        )

    return tell
