"""Every public function, class, method and property is shown in an example; pytest runs them."""

import doctest
import inspect
import re
from functools import cached_property

import pytest

from docs.public_names import public_names, results

KERNEL_ARRAYS = {
    "DecisionGraph": "layout parameter_offsets successor_offsets",
    "Augmentation": "of",
    "NaiveBayes": "parameters_of row_posteriors starts table",
}
"""Members that only other modules of the package call: of decision graphs the arrays that kernels
read, of augmentations what makes one of a search, of naive Bayes models what queries ask."""

PUBLIC = {name.rpartition(".")[2]: own for name, own in public_names().items()}
IN_FUNCTIONS = {
    *("Classification", "Enumeration", "Imputed", "LearnedCounts", "LearnedGraph"),
    *("LearnedGraphs", "Recovery", "Sensitivity", "StructuralEMGraph", "TableAnswer"),
    "VariableIndependences",
}
"""Results that only the examples of the functions show that return them."""

RESULTS = {
    own.__name__: own for own in results().values() if own.__name__ not in IN_FUNCTIONS
}
CLASSES = {
    name: own for name, own in (PUBLIC | RESULTS).items() if inspect.isclass(own)
}


def examples(documented):
    """Return the code of the examples in a docstring."""
    found = doctest.DocTestParser().get_examples(inspect.getdoc(documented) or "")
    return "".join(example.source for example in found)


def members(owner):
    """Return the functions of the public methods and properties that a class has itself."""
    for name, member in vars(owner).items():
        if isinstance(member, property):
            function = member.fget
        elif isinstance(member, cached_property):
            function = member.func
        else:
            function = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_function_or_class_has_an_example(name):
    code = examples(PUBLIC[name])
    assert code if name in CLASSES else re.search(rf"\b{name}\b", code), (
        f"add an example of {name} to its docstring, under 'Examples'"
    )


@pytest.mark.parametrize("name", CLASSES)
def test_the_members_of_a_public_class_stand_in_an_example(name):
    own = examples(CLASSES[name])
    known = {*KERNEL_ARRAYS.get(name, "").split()}
    of_class = {member for member, _ in members(CLASSES[name])}
    assert known <= of_class, (
        f"{known - of_class} are no members of {name}: take them off the list"
    )
    unseen = [
        member
        for member, function in members(CLASSES[name])
        if member not in known
        and not re.search(rf"\.{member}\b", own + examples(function))
    ]
    assert not unseen, (
        f"use {', '.join(unseen)} in an example, each in its own docstring or in that of {name}"
    )
