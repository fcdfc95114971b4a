"""Networks as other programs write them: read, or refused with the reason."""

import numpy as np
import pytest

from exactlearn import BayesianNetwork, query, read_graph, read_model, read_network
from exactlearn.errors import FormatError, OptionError
from tests.command_line import invoke

BIF = """network unknown {{ }}
variable a {{ type discrete [ 2 ] {{ t, f }}; }}
variable b {{ type discrete [ 2 ] {{ t, f }}; }}
probability ( a ) {{ table {a}; }}
probability ( b | a ) {{ (f) {b_f}; (t) {b_t}; }}
"""

NET = """net {{ }}
node a {{ states = ("t" "f"); }}
node b {{ states = ("t" "f"); }}
potential (a) {{ data = ({a}); }}
potential (b | a) {{ data = (({b_t}) ({b_f})); }}
"""

XMLBIF = """<?xml version="1.0"?>
<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>t</OUTCOME><OUTCOME>f</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>b</NAME><OUTCOME>t</OUTCOME><OUTCOME>f</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>{a}</TABLE></DEFINITION>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>{b_t} {b_f}</TABLE></DEFINITION>
</NETWORK></BIF>
"""

TEMPLATES = {".bif": BIF, ".net": NET, ".xmlbif": XMLBIF}
PLAIN = {"a": "0.25 0.75", "b_t": "0.125 0.875", "b_f": "0.5 0.5"}
EXPECTED = [[0.25, 0.75], [[0.125, 0.875], [0.5, 0.5]]]


@pytest.fixture(params=TEMPLATES)
def written(request, tmp_path):
    """Return what writes the network with some rows in a format, and returns the file."""

    def write(change=lambda text: text, **rows):
        file = tmp_path / f"n{request.param}"
        file.write_bytes(
            change(TEMPLATES[request.param].format(**PLAIN | rows)).encode()
        )
        return file

    return write


def tables(network: BayesianNetwork) -> list[list[float]]:
    return [table.tolist() for table in network.tables]


@pytest.mark.parametrize(
    "rows",
    [
        {"a": "400 1200"},
        {"b_t": "12.5 87.5", "b_f": "50 50"},
        {"b_f": "3e-5 3e-5"},
        {"a": "2e-3 6e-3", "b_f": "1 1"},
    ],
)
def test_counts_and_percentages_are_read_only_on_request(rows, written):
    file = written(**rows)
    with pytest.raises(
        FormatError, match=r"line [45678]\b.*sum to one.*\(normalise=True\)"
    ):
        read_network(file)
    for read in (read_network, read_model):
        assert tables(read(file, normalise=True)) == EXPECTED
    assert (
        query(read_network(file, normalise=True), {}, "a").posterior["a"]["t"] == 0.25
    )


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("row", ["0 0", "-1 3", "nan 1", "inf 1", "1e308 1e308"])
def test_rows_that_cannot_be_normalised_are_refused(row, normalise, written):
    """The message does not offer normalisation as the cure."""
    message = r"'b', given a=t: .* >= 0 that.*: correct the row$|expected a probability or ';'"
    with pytest.raises(FormatError, match=message):
        read_network(written(b_t=row), normalise=normalise)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("1.0000001 -1.1920929e-07", [1.0000001, 0.0]),
        ("-1e-6 1", [0.0, 1.0]),
        ("0.3333333 0.6666667", [0.3333333, 0.6666667]),
        ("0.333 0.666", [0.333 / (0.333 + 0.666), 0.666 / (0.333 + 0.666)]),
    ],
)
def test_rounded_rows_are_read(row, expected, written):
    assert tables(read_network(written(a=row)))[0] == expected


def test_larger_negative_entries_are_refused(written):
    with pytest.raises(
        FormatError, match=r"'a': expected probabilities >= 0 .*1e-06.*correct the"
    ):
        read_network(written(a="1.00001 -1e-5"))


def test_small_negatives_are_as_small_beside_counts(written):
    assert tables(read_network(written(a="-1e-4 1000"), normalise=True))[0] == [
        0.0,
        1.0,
    ]
    with pytest.raises(FormatError, match=r"correct the row$"):
        read_network(written(a="-0.1 1000"), normalise=True)


CHANGES = {
    "line ends of Windows": [("\n", "\r\n")],
    "small letters": [("TABLE", "Table"), ("VARIABLE", "variable"), (" TYPE", " type")],
    "capitals in bif": [
        ("network", "Network"),
        ("variable", "VARIABLE"),
        ("table", "TABLE"),
    ],
    "capitals of types": [
        ("type discrete", "Type DISCRETE"),
        ("probability", "Probability"),
    ],
    "capitals in net": [
        ("net ", "NET "),
        ("node", "Node"),
        ("data", "DATA"),
        ("states", "States"),
    ],
    "comments in bif": [("probability", "/* ( ; */ probability // {\n")],
    "comments in net": [("potential", "% { ;\n/* ( */ potential")],
    "comments in xml": [("<TABLE>", "<TABLE><!-- < -->")],
    "a document type": [("<BIF", "<!DOCTYPE BIF SYSTEM 'x.dtd' [<!ENTITY e ''>]><BIF")],
    "a byte order mark": [("", "\ufeff")],
    "a byte order mark before blanks": [("", "\ufeff \n")],
    "blanks first": [("", "\n\t ")],
    "a name space": [("<BIF", "<BIF xmlns='http://www.cs.ubc.ca/labs/lci/fopi'")],
}


@pytest.mark.parametrize("change", CHANGES)
def test_marks_blanks_comments_and_case_change_nothing(change, written):
    def changed(text):
        for old, new in CHANGES[change]:
            text = text.replace(old, new) if old else new + text
        return text

    network = read_network(written(changed))
    assert (network.names, network.states) == (("a", "b"), (("t", "f"),) * 2)
    assert tables(network) == EXPECTED


def test_xml_is_read_in_utf_16_and_other_texts_say_so(written):
    file = written()
    text = file.read_text().replace('"1.0"?', '"1.0" encoding="UTF-16"?')
    file.write_bytes(text.encode("utf-16"))
    if file.suffix == ".xmlbif":
        assert tables(read_network(file)) == EXPECTED
    else:
        with pytest.raises(FormatError, match="UTF-16; save it as UTF-8"):
            read_network(file)


def test_default_rows_and_any_order_are_read_as_counts_too(tmp_path):
    file = tmp_path / "n.bif"
    text = BIF.format(**PLAIN).replace(
        "(f) 0.5 0.5; (t) 0.125 0.875;", "default 9 9; (t) 1 7;"
    )
    file.write_text(text)
    assert tables(read_network(file, normalise=True)) == EXPECTED


# Names with blanks, as pgmpy writes them.


def test_names_with_blanks_are_read_from_lists_with_commas(tmp_path):
    file = tmp_path / "n.bif"
    file.write_text("""network unknown { }
variable my a { type discrete [ 2 ] { very low, /* , */ quite  high }; }
variable c { type discrete [ 2 ] { n y }; }
variable b { type discrete [ 2 ] { t, f }; }
probability ( my a ) { table 0.25, 0.75; }
probability ( c ) { table 0.5, 0.5; }
probability ( b | c, my a ) {
    ( n, very low ) 0.125, 0.875; (y, very low) 0 1;
    ( n, quite high ) 0.5 0.5; default 1 0; }
""")
    network = read_network(file)
    assert network.names == ("my a", "c", "b")
    assert network.states == (("very low", "quite high"), ("n", "y"), ("t", "f"))
    assert network.tables[2].tolist() == [
        [[0.125, 0.875], [0.5, 0.5]],
        [[0, 1], [1, 0]],
    ]


def test_names_with_blanks_that_are_not_declared_are_named(tmp_path):
    file = tmp_path / "n.bif"
    text = BIF.format(**PLAIN)
    file.write_text(text.replace("b | a", "b | my a"))
    with pytest.raises(
        FormatError, match="line 5, column 19: variable 'my' is not declared"
    ):
        read_network(file)
    file.write_text(text.replace("(t)", "(very low)"))
    with pytest.raises(
        FormatError, match=r"expected one state of each of 1 parents .* found 2"
    ):
        read_network(file)


# HUGIN, JavaBayes, GeNIe.


def test_models_of_tables_in_hugin_files_are_dropped(tmp_path):
    file = tmp_path / "n.net"
    model = """model_nodes = (); samples_per_interval = 25; model_data
        = ( if (a == "t", Distribution (0.25, 0.75), Distribution (1, 0)) );
        data"""
    head, _, tail = NET.format(**PLAIN).rpartition("data")
    file.write_text(head + model + tail)
    assert tables(read_network(file)) == EXPECTED


@pytest.mark.parametrize("version", ["0.2", "0.3"])
@pytest.mark.parametrize("state", ["VALUE", "OUTCOME"])
@pytest.mark.parametrize(
    "declaration", ['<?XML VERSION="1.0"?>', '\n <?xml version="1.0"?>', ""]
)
def test_formats_before_xmlbif_are_read(version, state, declaration, tmp_path):
    file = tmp_path / "n.xmlbif"
    text = (
        XMLBIF.format(**PLAIN)
        .replace('"0.3"', f'"{version}"')
        .replace("OUTCOME", state)
    )
    text = text.replace("DEFINITION", "PROBABILITY").replace(
        '<?xml version="1.0"?>', declaration
    )
    file.write_text(text.replace('"nature"', '"discrete"'))
    assert tables(read_network(file)) == EXPECTED


@pytest.mark.parametrize(
    ("suffix", "old", "new", "message"),
    [
        (
            ".net",
            'states = ("t" "f");',
            "",
            r"line 2, .*expected the states of node 'a'.*states =",
        ),
        (
            ".net",
            "potential (a)",
            "potential ()",
            r"line 4, column 12: expected a name, found '\)'",
        ),
        (
            ".net",
            "node a",
            "decision a",
            "line 2, .*found 'decision'; only networks of discrete",
        ),
        (
            ".xmlbif",
            "OUTCOME",
            "VALUE",
            "line 3: expected the states of 'a'.*<OUTCOME>.*<VALUE>",
        ),
        (
            ".xmlbif",
            "nature",
            "decision",
            "line 3: .*found 'decision' of 'a': only networks of",
        ),
        (
            ".xmlbif",
            "<TABLE>0.25 0.75</TABLE>",
            "",
            "line 5: expected <TABLE> with text in each",
        ),
        (
            ".xmlbif",
            "0.25 0.75",
            "0.25",
            "line 5: variable 'a': expected 2 probabilities",
        ),
        (".xmlbif", "0.25 0.75", "0.25 0.7", "line 5: variable 'a': .* with sum 0.95"),
        (
            ".xmlbif",
            "</NETWORK>",
            "</NET>",
            r"line 7, column 3: expected XML \(mismatched tag\)",
        ),
        (".xmlbif", "0.25", "&lt;", "line 5: variable 'a': expected probabilities"),
        (
            ".bif",
            "0.25 0.75",
            "0.25 0.7",
            "line 4, column 15: variable 'a': .* with sum 0.95",
        ),
    ],
)
def test_the_true_reason_is_named_with_its_line(suffix, old, new, message, tmp_path):
    file = tmp_path / f"n{suffix}"
    text = TEMPLATES[suffix].format(**PLAIN)
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(FormatError, match=message):
        read_network(file)


def test_line_numbers_count_blank_lines_before_the_xml(tmp_path):
    file = tmp_path / "n.xmlbif"
    file.write_text("\n\n" + XMLBIF.format(**PLAIN | {"a": "1"}))
    with pytest.raises(FormatError, match="line 7: variable 'a'"):
        read_network(file)


def test_an_entity_that_only_another_file_defines_is_refused(tmp_path):
    text = XMLBIF.format(**PLAIN).replace("<BIF", "<!DOCTYPE BIF SYSTEM 'x.dtd'><BIF")
    (tmp_path / "n.xmlbif").write_text(text.replace(">a</NAME>", ">a&uml;</NAME>"))
    with pytest.raises(FormatError, match=r"line 3: .* undefined entity &uml;"):
        read_network(tmp_path / "n.xmlbif")


FOREIGN = {
    "XDSL, the format of GeNIe": '<?xml version="1.0"?><smile id="N"><nodes/></smile>',
    "ProbModelXML": "<?xml version='1.0'?>\n<!-- x -->\n<ProbModelXML formatVersion='0.2.0'>",
    "the format of MSBNx": "<ANALYSISNOTEBOOK NAME='x'><BNMODEL/></ANALYSISNOTEBOOK>",
    "the format of Netica": "// ~->[DNET-1]->~\n\n// File created by X\n\nbnet Asia {\n};",
    "DSC, the format of MSBN": 'belief network "x"\nnode a { }',
    "UAI": "BAYES\n2\n2 2\n",
    "an object-oriented network of HUGIN": "class Main\n{\n inputs = ();\n}",
    "DSL, a former format": "/* x */ net Asia\n{ };",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_files_of_other_programs_are_named_whatever_their_suffix(kind, tmp_path):
    for suffix in (".bif", ".net", ".xml", ".xdsl", ".pgmx", ".dne", ".txt"):
        file = tmp_path / f"n{suffix}"
        file.write_text(FOREIGN[kind])
        with pytest.raises(
            (FormatError, OptionError), match=f"{kind}.*; open it in .*save it as"
        ):
            read_network(file)


@pytest.mark.parametrize("holds", TEMPLATES)
@pytest.mark.parametrize("suffix", [".bif", ".net", ".xml", ".txt"])
def test_a_file_with_the_suffix_of_another_format_says_its_own(holds, suffix, tmp_path):
    file = tmp_path / f"n{suffix}"
    file.write_text(TEMPLATES[holds].format(**PLAIN))
    if holds == suffix or (holds, suffix) == (".xmlbif", ".xml"):
        assert tables(read_network(file)) == EXPECTED
        return
    with pytest.raises(
        (FormatError, OptionError), match=f"let its name end in {holds}"
    ):
        read_network(file)


# The command line.


@pytest.fixture
def counts(tmp_path):
    file = tmp_path / "counts.net"
    file.write_text(NET.format(**PLAIN | {"a": "25 75"}))
    return file


@pytest.mark.parametrize(
    "command",
    [
        ["query", "COUNTS"],
        ["compile", "COUNTS"],
        ["evaluate", "COUNTS", "--reference", "COUNTS"],
        ["simulate", "COUNTS", "-o", "OUT.csv"],
        ["convert", "COUNTS", "-o", "OUT.bif"],
        ["report", "COUNTS", "-o", "OUT.html"],
        ["impute", "DATA", "--network", "COUNTS", "--method", "mpe"],
        ["compare", "--network", "COUNTS", "--methods", "mode", "--repeat", "1"],
        ["learn-pdg", "DATA", "--network", "COUNTS", "--method", "direct"],
    ],
)
def test_every_command_that_reads_a_network_normalises_it(command, counts, tmp_path):
    (tmp_path / "data.csv").write_text("a,b\nt,t\nf,t\nf,f\nt,f\n")
    places = {"COUNTS": str(counts), "DATA": str(tmp_path / "data.csv")}
    words = [
        places.get(word, word.replace("OUT", str(tmp_path / "out"))) for word in command
    ]
    refused = invoke(*words, status=2)
    assert "divided by its sum (--normalise)" in refused.stderr
    invoke(*words, "--normalise")


def test_a_structure_is_read_without_the_probabilities(counts, tmp_path):
    assert read_graph(counts).arcs == (("a", "b"),)
    (tmp_path / "data.csv").write_text("a,b\nt,t\nf,t\n")
    invoke("fit", counts, tmp_path / "data.csv")


def test_normalise_is_refused_where_there_is_no_network(counts, tmp_path):
    (tmp_path / "data.csv").write_text("a,b\nt,t\nf,t\nf,f\nt,f\n")
    graph, table = tmp_path / "n.pdg.json", tmp_path / "data.csv"
    invoke("compile", counts, "--normalise", "-o", graph)
    for words in (
        ["query", graph],
        ["evaluate", graph, table],
        ["convert", table, "-o", tmp_path / "d.tsv"],
        ["report", graph, "-o", tmp_path / "d.html"],
        ["impute", table],
    ):
        assert "--normalise" in invoke(*words, "--normalise", status=2).stderr


def test_the_same_network_has_the_same_bits_in_each_format(tmp_path):
    rows = np.random.default_rng(1).dirichlet([1, 1], 3)
    texts = [" ".join(map(repr, row.tolist())) for row in rows]
    for suffix, template in TEMPLATES.items():
        text = template.format(a=texts[0], b_t=texts[1], b_f=texts[2])
        (tmp_path / f"n{suffix}").write_text(text)
        assert tables(read_network(tmp_path / f"n{suffix}")) == [
            rows[0].tolist(),
            rows[1:].tolist(),
        ]
