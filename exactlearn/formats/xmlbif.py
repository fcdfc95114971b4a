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

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.files import atomic_write, read_bytes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import FormatError
from exactlearn.formats._interchange import Declared, Words, network_of, require_new

_SIGNS = "[^\\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+"
_NAME = re.compile(f"{_SIGNS}(?: {_SIGNS})*")
WORDS_OF_XML = Words(_NAME, _NAME)


def read_xmlbif(path: Path) -> BayesianNetwork:
    """Read a network.

    Raises
    ------
    FormatError
        When the file does not follow the format, or has decisions or utilities.
    OptionError
        When the file cannot be read.
    """
    root = parsed(path)
    tables: dict[str, tuple[list[str], list[str]]] = {}
    for definition in root.findall(".//{*}DEFINITION"):
        name = _text(path, definition, "FOR")
        require_new(path, name, tables)
        given = [(parent.text or "").strip() for parent in definition.findall("{*}GIVEN")]
        tables[name] = (given, _text(path, definition, "TABLE").split())
    variables: dict[str, Declared] = {}
    for variable in root.findall(".//{*}VARIABLE"):
        name, kind = _text(path, variable, "NAME"), variable.get("TYPE", "nature")
        require_new(path, name, variables)
        if kind != "nature":
            raise FormatError(
                f'{path}: expected variables TYPE="nature", found {kind!r} of {name!r}'
            )
        pairs = [(p.text or "").partition("=") for p in variable.findall("{*}PROPERTY")]
        variables[name] = Declared(
            [(state.text or "").strip() for state in variable.findall("{*}OUTCOME")],
            *tables.get(name, ([], [])),
            {key.strip(): value for key, _, value in pairs},
        )
    if strange := [name for name in tables if name not in variables]:
        raise FormatError(f"{path}: probabilities of {strange[0]!r}, which is no VARIABLE; add it")
    return network_of(path, variables)


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
    written = WORDS_OF_XML.of(network)
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
        Xml.SubElement(definition, "TABLE").text = numbers_of(table)
    write_xml(root, path)


def parsed(path: Path) -> Xml.Element:
    """Return the root of an XML file.

    Raises
    ------
    FormatError
        When it is no XML.
    """
    content = read_bytes(path)
    try:
        return Xml.fromstring(content)  # in the encoding that it declares
    except (Xml.ParseError, ValueError, LookupError) as error:
        raise FormatError(f"{path}: expected XML ({error})") from error


def write_xml(root: Xml.Element, path: Path) -> None:
    """Write XML in one step, indented.

    Raises
    ------
    OptionError
        When the file cannot be written.
    """
    Xml.indent(root)
    atomic_write(path, Xml.tostring(root, "UTF-8", xml_declaration=True) + b"\n")


def numbers_of(table: NDArray[np.float64]) -> str:
    """Return probabilities that read back exactly, parted by blanks."""
    return " ".join(map(repr, table.ravel().tolist()))


def _text(path: Path, element: Xml.Element, tag: str) -> str:
    found = (element.findtext(f"{{*}}{tag}") or "").strip()
    if not found:
        raise FormatError(f"{path}: expected <{tag}> with text in each <{element.tag}>; add it")
    return found
