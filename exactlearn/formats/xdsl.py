"""Bayesian networks in XDSL, the format of GeNIe and SMILE; pyAgrum and pgmpy read it too.

::

    <smile version="1.0" id="asia" numsamples="1000"><nodes>
    <cpt id="lung"><state id="yes" /><state id="no" /><parents>smoke</parents>
    <probabilities>0.1 0.9 0.01 0.99</probabilities></cpt>
    </nodes></smile>

Identifiers are letters, digits and underscores. A table counts through the states of the variable
fastest and through those of the first parent slowest; pyAgrum's tables, known by its name in the
file, count through the parents the other way, which it also expects. Nodes of the kinds ``cpt`` and
``deterministic`` are read; submodels, positions and colours are dropped. Parents stand before their
children; where that is another order than the network's, a property tells each variable's place.
"""

import re
from pathlib import Path
from xml.etree import ElementTree as Xml

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import FormatError
from exactlearn.formats._interchange import Declared, Words, network_of, require_new
from exactlearn.formats.xmlbif import WORDS_OF_XML, numbers_of, parsed, write_xml

_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_WORDS = Words(_IDENTIFIER, _IDENTIFIER)
_PLACE_KEY = "exactlearn_place"


def read_xdsl(path: Path) -> BayesianNetwork:
    """Read a network.

    Raises
    ------
    FormatError
        When the file does not follow the format, or has decisions, utilities, equations, noisy
        gates or time slices.
    OptionError
        When the file cannot be read.
    """
    variables: dict[str, Declared] = {}
    root = parsed(path)
    if root.find("dynamic") is not None:
        raise FormatError(f"{path}: a dynamic network; expected one without <dynamic>: unroll it")
    genie = root.find("extensions/genie")
    is_reversed = genie is not None and genie.get("app", "").startswith("aGrUM")
    for node in root.iterfind("nodes/*"):
        name = node.get("id", "")
        require_new(path, name, variables)
        states = [state.get("id", "") for state in node.iterfind("state")]
        if node.tag == "cpt":
            numbers = (node.findtext("probabilities") or "").split()
        elif node.tag == "deterministic":
            certain = (node.findtext("resultingstates") or "").split()
            numbers = [str(int(state == own)) for own in certain for state in states]
        else:
            raise FormatError(
                f"{path}: expected <cpt> and <deterministic> in <nodes>, found <{node.tag}> "
                f"{name!r}; change its type in GeNIe"
            )
        variables[name] = Declared(
            states,
            (node.findtext("parents") or "").split()[:: -1 if is_reversed else 1],
            numbers,
            {p.get("id", ""): p.text or "" for p in node.iterfind("property")},
        )
    places = {name: own.properties.get(_PLACE_KEY, "") for name, own in variables.items()}
    if all(place.isdecimal() and len(place) < 10 for place in places.values()):
        variables = {name: variables[name] for name in sorted(places, key=lambda n: int(places[n]))}
    return network_of(path, variables)


def write_xdsl(network: BayesianNetwork, path: Path) -> None:
    """Write a network in one step; reading it gives the same network, bit for bit.

    Raises
    ------
    OptionError
        When the file cannot be written.
    """
    root = Xml.Element("smile", version="1.0", id="unknown", numsamples="1000")
    nodes = Xml.SubElement(root, "nodes")
    extensions = Xml.SubElement(root, "extensions")  # pyAgrum reads no file without it
    shown = Xml.SubElement(extensions, "genie", version="1.0", app="exactlearn", name="unknown")
    written = _WORDS.of(network)
    is_ordered = network.order == tuple(range(network.n_variables))
    for v in network.order:
        own = written[v]
        node = Xml.SubElement(nodes, "cpt", id=own.name)
        for state in own.states:
            Xml.SubElement(node, "state", id=state)
        if network.parents[v]:
            parents = (written[parent].name for parent in network.parents[v])
            Xml.SubElement(node, "parents").text = " ".join(parents)
        Xml.SubElement(node, "probabilities").text = numbers_of(network.tables[v])
        place = {} if is_ordered else {_PLACE_KEY: str(v)}
        for key, value in {**own.properties, **place}.items():
            Xml.SubElement(node, "property", id=key).text = value
        true = network.names[v]
        name = Xml.SubElement(Xml.SubElement(shown, "node", id=own.name), "name")
        name.text = true if WORDS_OF_XML.variable.fullmatch(true) else own.name
    write_xml(root, path)
