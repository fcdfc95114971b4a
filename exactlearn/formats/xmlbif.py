"""Bayesian networks in XMLBIF, version 0.3 (Cozman 1998): pyAgrum, pgmpy, SamIam, Weka, JavaBayes.

::

    <BIF VERSION="0.3"><NETWORK><NAME>asia</NAME>
    <VARIABLE TYPE="nature"><NAME>smoke</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>
    <DEFINITION><FOR>smoke</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
    </NETWORK></BIF>

A table counts through the states of the variable fastest and through those of the first ``GIVEN``
slowest. Tags may be in any case. The formats before, of 1998, have ``PROBABILITY`` for
``DEFINITION``, and may have ``VALUE`` for ``OUTCOME``, ``discrete`` for ``nature`` and an XML
declaration in capitals; they are read, too.

Names stand as they are, but for those that are empty or hold white space other than single blanks
between words, or signs that XML has not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as Xml
from xml.parsers import expat

from exactlearn._runtime.files import atomic_write, read_bytes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import FormatError
from exactlearn.formats._declarations import Declarations
from exactlearn.formats._interchange import Words

_SIGNS = "[^\\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+"
_NAME = re.compile(f"{_SIGNS}(?: {_SIGNS})*")
_WORDS = Words(_NAME, _NAME)
_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?(\s*)(<\?xml\b[^>]*\?>)", re.IGNORECASE)


@dataclass
class _Element:
    """An element of a file: its tag in capitals, and where it begins.

    Attributes
    ----------
    path, line
        The file and the line of the start tag.
    children
        The elements within it.
    pieces
        The text in it, that of its children left out.
    """

    tag: str
    attributes: dict[str, str]
    path: Path
    line: int
    children: "list[_Element]" = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def fault(self, message: str) -> FormatError:
        """Return an error at this element."""
        return FormatError(f"{self.path}, line {self.line}: {message}")

    def all(self, *tags: str) -> "Iterator[_Element]":
        """Yield the elements below this one with any of these tags, in the order of the file."""
        unvisited = [self]
        while unvisited:
            element = unvisited.pop()
            if element.tag in tags:
                yield element
            unvisited += element.children[::-1]

    def texts(self, *tags: str) -> list[str]:
        """Return the texts of the children with any of these tags."""
        children = (child for child in self.children if child.tag in tags)
        return ["".join(child.pieces).strip() for child in children]

    def required_text(self, tag: str) -> str:
        """Return the text of the first child with a tag, which must have one."""
        text = next(iter(self.texts(tag)), "")
        if not text:
            raise self.fault(f"expected <{tag}> with text in each <{self.tag}>; add it")
        return text


def read_xmlbif(path: Path, *, normalise: bool = False) -> BayesianNetwork:
    """Read a network.

    Parameters
    ----------
    path
        The file.
    normalise
        Divide each row of probabilities by its sum.

    Raises
    ------
    FormatError
        When the file does not follow the format, or has decisions or utilities.
    OptionError
        When the file cannot be read.
    """
    root = _root(path, read_bytes(path))
    if root.tag != "BIF":
        raise root.fault(f"expected <BIF>, the root of XMLBIF, found <{root.tag}>")
    declared = Declarations(path, normalise=normalise)
    definitions = [*root.all("DEFINITION", "PROBABILITY")]
    is_early = any(definition.tag == "PROBABILITY" for definition in definitions)
    for variable in root.all("VARIABLE"):
        _add_variable(variable, declared, is_early=is_early)
    for definition in definitions:
        name = definition.required_text("FOR")
        numbers = definition.required_text("TABLE").split()
        declared.add_table(name, definition.texts("GIVEN"), numbers, definition.fault)
    return declared.network()


def _add_variable(
    variable: _Element, declared: Declarations, *, is_early: bool
) -> None:
    """Declare a variable, in the tags of version 0.3 or of those before."""
    name = variable.required_text("NAME")
    kind = variable.attributes.get("TYPE", "nature")
    if kind.lower() not in ("nature", "discrete"):
        raise variable.fault(
            f'expected variables TYPE="nature", found {kind!r} of {name!r}: only networks of such '
            "variables are read; remove it, or give it states and probabilities"
        )
    states = variable.texts("OUTCOME") or (variable.texts("VALUE") if is_early else [])
    if not states:
        children = ", ".join(f"<{child.tag}>" for child in variable.children)
        raise variable.fault(
            f"expected the states of {name!r}, each in an <OUTCOME>, found only {children}: write "
            "its states so (<VALUE> is only of the formats with <PROBABILITY>)"
        )
    pairs = (text.partition("=") for text in variable.texts("PROPERTY"))
    properties = {key.strip(): value for key, _, value in pairs}
    declared.add(name, states, properties, variable.fault)


def _root(path: Path, content: bytes) -> _Element:
    """Return the root of an XML text, in the encoding that it declares."""
    # Blanks before the declaration, and capitals in it, are no XML, and programs write them.
    skipped = 0
    if declaration := _DECLARATION.match(content):
        skipped = declaration[1].count(b"\n")
        content = declaration[2].lower() + content[declaration.end() :]
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    document = _Element("", {}, path, 1)
    unclosed = [document]

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = skipped + parser.CurrentLineNumber
        capitals = {key.upper(): value for key, value in attributes.items()}
        element = _Element(tag.rpartition(" ")[2].upper(), capitals, path, line)
        unclosed[-1].children.append(element)
        unclosed.append(element)

    def refuse_entity(name: str, is_parameter: bool) -> None:
        if not is_parameter:
            raise unclosed[-1].fault(
                f"expected XML, found the undefined entity &{name};: write it"
            )

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: unclosed.pop()
    parser.CharacterDataHandler = lambda text: unclosed[-1].pieces.append(text)
    parser.SkippedEntityHandler = refuse_entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        where = f"line {skipped + error.lineno}, column {error.offset + 1}"
        message = expat.errors.messages[error.code]
        raise FormatError(
            f"{path}, {where}: expected XML ({message}): correct it"
        ) from error
    except (ValueError, LookupError) as error:
        raise FormatError(
            f"{path}: expected XML ({error}): save it in UTF-8"
        ) from error
    return document.children[0]


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
    for own, parents, table in zip(
        written, network.parents, network.tables, strict=True
    ):
        definition = Xml.SubElement(content, "DEFINITION")
        Xml.SubElement(definition, "FOR").text = own.name
        for parent in parents:
            Xml.SubElement(definition, "GIVEN").text = written[parent].name
        Xml.SubElement(definition, "TABLE").text = " ".join(
            map(repr, table.ravel().tolist())
        )
    Xml.indent(root)
    atomic_write(path, Xml.tostring(root, "UTF-8", xml_declaration=True) + b"\n")
