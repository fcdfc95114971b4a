"""The linear relaxation as a component solver: a bound by cutting planes, and a selection near it.

The solution of the last relaxation suggests an order of the variables, from which a local search
sets out. The outcome is proven when the bound meets the score; where a gap is left, the reduced
costs say which candidates a better selection may have (:meth:`~.root.Root.may_reach`).
"""

import numpy as np

from ..component_solver import ComponentControl, Outcome, Selection
from ..components import Component
from ..ordering.solver import INCUMBENT_SHARE, OrderSearch, search_budget
from .multipliers import Multipliers
from .root import Root, solve_root

LONG = 1.0
"""Seconds of work whose result is kept, where a search keeps its state."""

WENT_ON = "it went on where an earlier search had stopped, whose time does not count here"


def solve_component(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Bound a component by cutting planes; search from the order that their solution suggests."""
    root = relax(component, incumbent, control)
    if not (control.is_proven or control.is_over):
        climb_from(root, component, control)
    if control.options.explain and not (control.is_proven or control.is_over):
        control.note("the linear relaxation leaves a gap, which another solver may close")
    return control.outcome(proven=control.is_proven, nodes=1)


def relax(component: Component, incumbent: Selection | None, control: ComponentControl) -> Root:
    """Solve the relaxation by cutting planes; clusters of the options' multipliers help.

    The bounds go to the control on the way, and the clusters are kept with the states when the
    rounds take long or a limit ends them. They end when the absolute gap is reached.
    """
    options, key = control.options, f"relaxation-{component.digest}"
    known, kept, begun = options.multipliers, control.states.load(key), control.seconds
    if known is None and kept:
        known = Multipliers.of_state(kept)
        control.note(WENT_ON)
        control.prove(known.bound(component))

    root = solve_root(
        component,
        control.score,
        chosen=incumbent,
        clusters=None if known is None else known.counted,
        enough=control.score + options.absolute_gap,
        control=control,
        on_bound=lambda bound, _: control.prove(bound),
    )
    control.prove(root.bound, 1)
    if control.is_over or control.seconds - begun >= LONG:
        control.states.save(key, root.multipliers.state)
    return root


def climb_from(root: Root, component: Component, control: ComponentControl) -> None:
    """Search from the order that a solution of the relaxation suggests."""
    search = OrderSearch(component, np.random.default_rng(control.options.seed))
    order = search.greedy_order(root.x)
    part = control.part(INCUMBENT_SHARE)
    found = search.improve(order, *search_budget(component), part)
    if found is not None:
        control.improve(found)
