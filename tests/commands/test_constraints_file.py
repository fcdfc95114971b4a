"""Constraints in a file of their own, to which the options add."""

import pytest

from exactlearn.commands.pipeline import with_file
from exactlearn.commands.sections import Selection
from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.run_file import to_toml
from exactlearn.instances import path
from tests.command_line import fails, run_json, signed_json

NAMES = ("a", "b", "c", "d")
ALL = {
    "required": ("a->b",),
    "forbidden": ("b -> c",),
    "required_adjacent": ("a-b",),
    "forbidden_adjacent": ("c-d",),
    "required_ancestors": ("a->d",),
    "forbidden_ancestors": ("d->a",),
    "tiers": ("a,b", "c,d"),
    "max_parents_of": {"d": 2},
    "independent": ("a,c|b",),
}


def written(folder, text):
    (folder / "rules.toml").write_text(text)
    return folder / "rules.toml"


def test_every_constraint_of_the_options_may_stand_in_the_file(tmp_path):
    file = written(tmp_path, to_toml(ALL))
    assert with_file(Selection(constraints=str(file)), NAMES) == Selection(**ALL)


def test_options_add_to_the_file(tmp_path):
    file = written(
        tmp_path,
        'required = ["a->b"]\nmax_parents_of = {d = 2}\nindependent = ["a,d"]\ntiers = ["c"]\n',
    )
    own = Selection(
        constraints=str(file),
        required=("b->c", "a->b"),
        independent=("c,d",),
        tiers=("b",),
    )
    found = with_file(own, NAMES)
    assert set(found.required) == {"a->b", "b->c"}
    assert found.max_parents_of == {"d": 2}
    assert (set(found.independent), found.tiers) == ({"a,d", "c,d"}, ("b",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('requird = ["a->b"]', "unknown key 'requird'; did you mean 'required'?"),
        ('required = ["a->e"]', "'a->e': no variable 'e'"),
        ('independent = ["a"]', "independence 'a'"),
        ("max_parents_of = {d = -1}", "expected at least 0"),
        ('required = "a->b"', "key 'required': expected a list"),
        ("[constraints]\nrequired = []\n", "unknown key 'constraints'"),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_file_and_key(tmp_path, text, said):
    file = written(tmp_path, text)
    with pytest.raises(OptionError) as error:
        with_file(Selection(constraints=str(file)), NAMES)
    assert str(error.value).startswith(str(file))
    assert said in str(error.value)


def test_a_fault_of_the_syntax_is_named_by_its_line(tmp_path):
    file = written(tmp_path, "forbidden = []\nrequired = a->b\n")
    with pytest.raises(FormatError, match=r"rules\.toml.*line 2"):
        with_file(Selection(constraints=str(file)), NAMES)


LEARNERS = [
    ("solve", "cancer-mcar-complete"),
    ("augment", "cancer-mcar", "--method", "t-local", "--starts", 2),
    ("augment", "cancer-mcar-complete"),
    ("impute", "cancer-mcar", "--method", "augmentation"),
]


@pytest.mark.parametrize("words", LEARNERS, ids=str)
def test_every_learner_of_networks_honours_the_file(tmp_path, words):
    file = written(
        tmp_path, 'required = ["Dyspnoea->Pollution"]\nforbidden = ["Smoker->Cancer"]\n'
    )
    record = signed_json(*words, "--constraints", file)
    assert "Dyspnoea" in record["parents"]["Pollution"]
    assert "Smoker" not in record["parents"]["Cancer"]
    named = [(one["name"], one["option"]) for one in record["made_by"]["inputs"]]
    assert ("rules.toml", "constraints") in named


@pytest.mark.parametrize("command", ["augment", "impute", "compare"])
def test_a_constraint_that_a_learner_cannot_honour_is_named(tmp_path, command):
    file = written(tmp_path, 'independent = ["Pollution,Smoker"]\n')
    said = fails(command, "cancer-mcar", "--constraints", file, "--max-parents", 1)
    assert "Pollution" in said
    assert "cannot be honoured while missing cells are completed" in said


def test_a_run_keeps_its_constraints_and_hands_them_to_its_steps(tmp_path):
    written(tmp_path, 'required = ["Dyspnoea->Pollution"]\n')
    (tmp_path / "a.toml").write_text(
        f'[data]\nfile = "{path("cancer-mcar-complete.csv")}"\n'
        '[search]\nconstraints = "rules.toml"\n[solve]\n'
    )
    record = run_json("run", tmp_path / "a.toml", "-o", tmp_path / "out")
    for found in (record, *record["steps"]):
        assert "Dyspnoea" in found["parents"]["Pollution"]
    again = run_json("run", tmp_path / "out" / "run.toml", "-o", tmp_path / "again")
    assert again["parents"] == record["parents"]
