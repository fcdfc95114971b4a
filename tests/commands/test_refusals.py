"""What commands on models and data refuse: command lines, each with a keyword of its error."""

import shlex

import pytest

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.formats.models import read_network, write_model
from tests.command_line import ROOT, fails, run

QUERY = "query asia"
PATHS = "query aisa", "run aisa", "instances aisa"

REFUSED = [
    ("solve cancer --criterion bic --ess 2", "--ess is for --score bdeu"),
    *((words, "did you mean 'asia'") for words in PATHS),
    ("query missing/net.bif", "missing/net.bif: no such file"),
    (f"{QUERY} -e smoke=maybe", "no state 'maybe'"),
    (f"{QUERY} -e smoek=yes", "did you mean 'smoke'"),
    (f"{QUERY} -e smoke", "expected NAME=VALUE"),
    (f"{QUERY} -e smoke=yes -e smoke=no", "give it once"),
    (
        "graph asia -o x.bif",
        "--output x.bif: expected a file name ending in .json, .svg",
    ),
    ("graph asia --variable lunk", "no variable 'lunk'; did you mean 'lung'?"),
    ("graph asia --independent 'lung|smoke'", "expected 'A, B | C, D'"),
    ("graph asia --reference cancer", "cancer: 'Pollution' is no variable"),
    ("graph asia-mnar", "no bundled .bif instance of that name"),
    ("compile asia -o x.bif", "expected a file name ending in .pdg.json"),
    ("compile asia -o no/where/x.json", "there is no folder no/where"),
    ("compile asia --max-size 20", "query the network itself"),
    ("learn-pdg full.csv --network asia", "no column 'asia', which the model needs"),
    (
        "learn-pdg part.csv --method direct",
        "structural EM learns one from missing cells (--method em)",
    ),
    ("simulate asia", "expected the file to write"),
    ("simulate asia --hide mcr:2 -o x.csv", "mcar"),
    ("simulate asia --missingness 'lung <- lun' -o x.csv", "did you mean 'lung'?"),
    (
        "simulate asia --hide mcar:1 --missingness 'lung <-' -o x.csv",
        "exclude each other",
    ),
    ("convert asia", "expected the file to write"),
    ("convert asia -o x.jkl", "expected a file name ending in .bif"),
    ("convert model.bif -o x.nb.json", "expected a file for a network"),
    (
        "convert full.csv -o x.jkl --candidate-parents 2 --ess auto",
        "leave out --ess auto",
    ),
    ("evaluate cancer", "expected DATA.csv"),
    ("evaluate cancer --reference cancer --class Cancer", "expected DATA.csv"),
    (
        "evaluate cancer asia-mnar",
        "column 'Pollution': there is no such column, which the model",
    ),
    (
        "evaluate cancer --reference asia",
        "expected two models of the same variables, but only one has 'Cancer'",
    ),
    ("evaluate cancer --reference other.bif", "of 'Smoker' one has the states no, yes"),
    ("evaluate cancer none.csv", "no such file"),
    ("evaluate cancer strange.csv", "'x'"),
    ("evaluate cancer weightless.csv --weights w", "no rows of positive weight"),
    ("fit cancer part.csv --missingness 'Canser <-'", "'Canser' is no variable"),
    (
        "fit cancer part.csv --missingness 'Cancer <-'",
        "says that this variable has none",
    ),
    ("missingness part.csv -o a.csv", "ending in .json, .missingness"),
    ("impute part.csv --method knn --train full.csv", "from that table alone"),
    (
        "impute part.csv --method multiple -o x.csv",
        "expected a file name ending in .json",
    ),
    ("compare", "either a table or --network"),
    ("compare part.csv --methods exact,structural", "did you mean 'structural-em'"),
    ("compare full.csv --methods mode", "so every method would complete it alike"),
    ("compare full.csv", "no cell is missing"),
    (
        "solve full.csv --require Smoke->Cancer",
        "no variable 'Smoke'; did you mean 'Smoker'?",
    ),
    (
        "fit cancer part.csv --separators Smoker",
        "--separators is for --method id-mar or if-mar",
    ),
    (
        "fit cancer part.csv --method d-mar --iterations 3",
        "--iterations is for --method em",
    ),
    (
        "fit cancer full.csv --method aca --tolerance 1",
        "--tolerance is for --method em",
    ),
    (
        "fit cancer part.csv --method d-mar --missingness 'a <-'",
        "--missingness is for --method em",
    ),
    ("fit cancer part.csv --missingness 'Xray <-'", "has none; add the statement"),
    ("fit cancer part.csv --method id-mar --separators Smoke", "did you mean 'Smoker'"),
    ("fit model.pdg.json part.csv --method complete", "are for a network"),
    ("fit model.nb.json part.csv --method d-mar", "fit other models by 'em'"),
    ("fit model.nb.json part.csv --starts 3", "starts from its own"),
    ("fit model.nb.json part.csv -o fitted.bif", ".nb.json"),
    ("fit graph.json asia-mnar", "no variable 'Pollution'"),
    *(
        (
            f"fit cancer weightless.csv --weights w --method {method}",
            "no rows of positive weight",
        )
        for method in ("complete", "d-mcar", "f-mar", "em")
    ),
    ("instances none", "expected one of"),
    ("solve full.csv --criterion none", "'none' is not one of"),
    ("fit cancer full.csv --method none", "'none' is not one of"),
    ("learn-pdg part.csv --method none", "'none' is not one of"),
    ("impute part.csv --method none", "'none' is not one of"),
    ("augment part.csv --t -1", "-1 is not in the range"),
    ("fit cancer scores.jkl", "found a file of local scores"),
    ("compile full.csv", "expected a network"),
    ("query cancer -t Canser", "did you mean 'Cancer'"),
    ("convert cancer -o out.xyz", "found '.xyz'"),
    ("verify scores.jkl scores.jkl", "found a file of local scores"),
    ("run part.csv", "found a table"),
    ("run cancer --jobs 2", "no [sweep]"),
    ("missingness model.bif", "found a network in BIF"),
    ("graph scores.jkl", "expected a graph or a network"),
    ("report absent", "no such file or folder"),
    ("solve", "Missing argument"),
    ("slove", "did you mean 'solve'?"),
    ("solve nothing.csv", "no such file here, and no bundled .csv instance"),
    ("solve full.csv -o x.xls", "found '.xls'"),
    ("solve full.csv --gap -1", "not in the range"),
    ("solve scores.jkl -o net.bif", "parameters need data"),
    ("solve full.csv --classes", "--classes is for --best"),
    ("solve full.csv --best 2 --gap 0.1", "exclude each other"),
    ("solve full.csv --best 2 --certificate c.json", "exclude each other"),
    ("solve full.csv --best 2 --solver ordering", "proves nothing"),
    ("solve full.csv --require Smokr->Cancer --ess auto", "did you mean 'Smoker'?"),
    (
        "solve full.csv --solver ges --checkpoint state",
        "--checkpoint cannot be honoured",
    ),
    (
        "solve full.csv --solver ges --constraints rules.toml",
        "--constraints cannot be honoured",
    ),
    ("solve full.csv --solver ges --best 2", "--best cannot be honoured"),
    ("solve full.csv --solver kes --prior fair", "--prior cannot be honoured"),
    (
        "solve full.csv --solver kes --require Smoker->Cancer",
        "--required cannot be honoured",
    ),
    (
        "solve full.csv --solver ges --certificate c.json",
        "--certificate cannot be honoured",
    ),
    ("solve full.csv --ess auto --criterion bic", "--score bdeu"),
    ("solve full.csv --ess several", "auto"),
    *(
        (f"solve scores.jkl --{option}", "is for a table, but scores were given")
        for option in (
            "max-parents=1",
            "ess=auto",
            "criterion=bic",
            "bootstrap=2",
            "counts=f-mar",
        )
    ),
    ("solve scores.jkl --certificate folder.json", "found a folder"),
    ("solve scores.jkl --certificate none/proof.json", "make it first"),
    (
        "compile asia -o folder.json",
        "expected a file, found a folder; name a file in it",
    ),
    ("simulate asia --rows 99999999999 -o x.csv", "not enough memory"),
    (f"solve {ROOT}", "expected files, a folder of .parquet files"),
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Return a folder with what the command lines read."""
    made = tmp_path_factory.mktemp("inputs")
    network = read_network("cancer")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        hidden = ("--hide", "mcar:0.1", "-o", "part.csv", "--complete", "full.csv")
        run("simulate", "cancer", "--rows", 60, "--seed", 3, *hidden)
        run("convert", "full.csv", "-o", "scores.jkl")
        run("compile", "cancer", "-o", "model.pdg.json")
        run("learn-nb", "part.csv", "--components", 2, "-o", "model.nb.json")
        run("graph", "cancer", "-o", "graph.json")
    write_model(network, made / "model.bif")
    (made / "folder.json").mkdir()
    (made / "rules.toml").write_text("forbidden = []\n")
    states = tuple(("no", "yes") if name == "Smoker" else own
                   for name, own in zip(network.names, network.states, strict=True))  # fmt: skip
    other = BayesianNetwork(network.names, states, network.parents, network.tables)
    write_model(other, made / "other.bif")
    head = ",".join(network.names)
    (made / "strange.csv").write_text(f"{head}\nx,True,False,negative,False\n")
    (made / "weightless.csv").write_text(f"{head},w\nlow,True,False,negative,False,0\n")
    return made


@pytest.mark.parametrize(
    ("words", "keyword"), REFUSED, ids=[words for words, _ in REFUSED]
)
def test_a_mistake_is_reported_in_one_line(words, keyword, inputs, monkeypatch):
    monkeypatch.chdir(inputs)
    before = set(inputs.iterdir())
    message = fails(*shlex.split(words))
    *usage, error = message.splitlines()
    assert error.startswith("Error: ")
    assert keyword in error
    assert not usage or usage[0].startswith("Usage: ")
    assert set(inputs.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("compile asia --drop smoke", "--drop is for --data"),
        ("compile asia --no-header", "--no-header is for --data"),
        ("evaluate asia --reference asia --missing x", "--missing is for DATA.csv"),
        ("evaluate asia --reference asia --cluster local", "--cluster is for DATA.csv"),
        (
            "compare asia-mnar --methods mode --repeat 3",
            "--repeat is for --hide or --network",
        ),
        (
            "compare asia-mnar --learners bic --max-parents 1",
            "--max-parents has no effect beside --l",
        ),
        (
            "compare asia-mnar --learners bic --missingness learned",
            "--missingness has no effect",
        ),
        (
            "compare --network asia --methods mode --drop lung",
            "--drop has no effect beside --netw",
        ),
        (
            "impute asia-mnar --network asia --ess 3",
            "--ess has no effect beside --network",
        ),
        (
            "impute asia-mnar --method mode --forbid asia->tub",
            "effect beside --method mode",
        ),
        (
            "impute asia-mnar --method posterior --networks 3",
            "--method stacked or averaged",
        ),
        (
            "augment asia-mnar --method mode --t 2",
            "--t has no effect beside --method mode",
        ),
        ("convert asia --ess 3 -o x.net", "--ess has no effect on a model, found asia"),
        (
            "convert x.jkl --drop a -o y.jkl",
            "--drop has no effect on local scores, found x.jkl",
        ),
    ],
)
def test_an_option_without_effect_beside_another_one_is_refused(words, reason):
    assert reason in fails(*words.split())


def test_steps_read_tables_by_the_options_of_their_run(tmp_path):
    """A step without a section of its own takes those of the run's sections."""
    run_file = tmp_path / "run.toml"
    text = """
pipeline = false
[data]
file = "cancer-mcar"
missing = ["?", "x"]
[score]
ess = 2.0
[search]
t = 2
[compile]
source = "cancer"
[impute]
method = "mode"
[convert]
source = "cancer"
output = "cancer.net"
"""
    run_file.write_text(text)
    run("run", run_file, "-o", tmp_path / "out")
    run_file.write_text(text.replace('method = "mode"', 'method = "mode"\ness = 2.0'))
    assert "--ess has no effect beside --method mode" in fails("run", run_file)
