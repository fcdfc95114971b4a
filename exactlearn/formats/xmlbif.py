"""Bayesian networks in XMLBIF, version 0.3 (Cozman 1998): pyAgrum, pgmpy, SamIam, Weka, JavaBayes.

::

    <BIF VERSION="0.3"><NETWORK><NAME>asia</NAME>
    <VARIABLE TYPE="nature"><NAME>smoke</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
    <DEFINITION><FOR>smoke</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
    </NETWORK></BIF>

A table counts through the states of the variable fastest and through those of the first ``GIVEN``
slowest. Names stand as they are, but for those that are empty or hold white space other than
single blanks between words, or signs that XML has not.
"""

import re
from pathlib import Path
from xml.etree import ElementTree as Xml

from exactlearn._runtime.files import atomic_write, read_bytes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import FormatError
from exactlearn.formats._interchange import Declarations, Words

_SIGNS = "[^\\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+"
_NAME = re.compile(f"{_SIGNS}(?: {_SIGNS})*")
_WORDS = Words(_NAME, _NAME)


def read_xmlbif(path: Path) -> BayesianNetwork:
    """Read a network.

    Raises
    ------
    FormatError
        When the file does not follow the format, or has decisions or utilities.
    OptionError
        When the file cannot be read.
    """
    content, declared = read_bytes(path), Declarations(path)
    try:
        root = Xml.fromstring(content)  # in the encoding that it declares
    except (Xml.ParseError, ValueError, LookupError) as error:
        raise FormatError(f"{path}: expected XML ({error})") from error
    for definition in root.findall(".//{*}DEFINITION"):
        numbers = _text(path, definition, "TABLE").split()
        declared.add_table(_text(path, definition, "FOR"), _texts(definition, "GIVEN"), numbers)
    for variable in root.findall(".//{*}VARIABLE"):
        name, kind = _text(path, variable, "NAME"), variable.get("TYPE", "nature")
        if kind != "nature":
            raise FormatError(
                f'{path}: expected variables TYPE="nature", found {kind!r} of {name!r}'
            )
        pairs = (text.partition("=") for text in _texts(variable, "PROPERTY"))
        properties = {key.strip(): value for key, _, value in pairs}
        declared.add(name, _texts(variable, "OUTCOME"), properties)
    return declared.network()


def write_xmlbif(network: BayesianNetwork, path: Path) -> None:
    """Write a network in one step; reading it gives the same network, bit for bit.

    Raises
    ------
    OptionError
        When the file cannot be written.
    """
    root = Xml.Element("BIF", VERSION="0.3")
    content = Xml.SubElement(root, "NETWORK")
    Xml.SubElement(content, "NAME").text = "unknown"
    written = _WORDS.of(network)
    for own in written:
        variable = Xml.SubElement(content, "VARIABLE", TYPE="nature")
        Xml.SubElement(variable, "NAME").text = own.name
        for state in own.states:
            Xml.SubElement(variable, "OUTCOME").text = state
        for key, value in own.properties.items():
            Xml.SubElement(variable, "PROPERTY").text = f"{key} = {value}"
    for own, parents, table in zip(written, network.parents, network.tables, strict=True):
        definition = Xml.SubElement(content, "DEFINITION")
        Xml.SubElement(definition, "FOR").text = own.name
        for parent in parents:
            Xml.SubElement(definition, "GIVEN").text = written[parent].name
        Xml.SubElement(definition, "TABLE").text = " ".join(map(repr, table.ravel().tolist()))
    Xml.indent(root)
    atomic_write(path, Xml.tostring(root, "UTF-8", xml_declaration=True) + b"\n")


def _texts(element: Xml.Element, tag: str) -> list[str]:
    return [(found.text or "").strip() for found in element.findall(f"{{*}}{tag}")]


def _text(path: Path, element: Xml.Element, tag: str) -> str:
    found = (element.findtext(f"{{*}}{tag}") or "").strip()
    if not found:
        raise FormatError(f"{path}: expected <{tag}> with text in each <{element.tag}>; add it")
    return found
