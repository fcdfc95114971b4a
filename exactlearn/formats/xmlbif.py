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
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as Xml
from xml.parsers import expat
from xml.sax.saxutils import escape

from exactlearn._runtime.files import atomic_write, read_bytes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import FormatError
from exactlearn.formats._declarations import Declarations
from exactlearn.formats._interchange import Words, rendered

_SIGNS = "[^\\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+"
_NAME = re.compile(f"{_SIGNS}(?: {_SIGNS})*")
_WORDS = Words(_NAME, _NAME)
_TEMPLATE = """\
<?xml version='1.0' encoding='UTF-8'?>
<BIF VERSION="0.3">
  <NETWORK>
    <NAME>unknown</NAME>
{% for variable in variables %}
    <VARIABLE TYPE="nature">
      <NAME>{{ escape(variable.name) }}</NAME>
{% for state in variable.states %}
      <OUTCOME>{{ escape(state) }}</OUTCOME>
{% endfor %}
{% for key, value in variable.properties.items() %}
      <PROPERTY>{{ key }} = {{ value }}</PROPERTY>
{% endfor %}
    </VARIABLE>
{% endfor %}
{% for variable in variables %}
    <DEFINITION>
      <FOR>{{ escape(variable.name) }}</FOR>
{% for parent in variable.parents %}
      <GIVEN>{{ escape(parent.name) }}</GIVEN>
{% endfor %}
      <TABLE>{{ variable.table.ravel().tolist() | join(" ") }}</TABLE>
    </DEFINITION>
{% endfor %}
  </NETWORK>
</BIF>
"""

_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?(\s*)(<\?xml\b[^>]*\?>)", re.IGNORECASE)


class _Element(Xml.Element):
    """An element of a file, with its tag and the names of its attributes in capitals.

    Attributes
    ----------
    place
        The file and the line of the start tag.
    """

    place: str

    def fault(self, message: str) -> FormatError:
        """Return an error at this element."""
        return FormatError(f"{self.place}: {message}")

    def texts(self, *tags: str) -> list[str]:
        """Return the texts of the children with any of these tags."""
        children = (child for child in self if child.tag in tags)
        return ["".join(child.itertext()).strip() for child in children]

    def required_text(self, tag: str) -> str:
        """Return the text of the first child with a tag, which must have one."""
        texts = self.texts(tag)
        if not texts or not texts[0]:
            raise self.fault(f"expected <{tag}> with text in each <{self.tag}>; add it")
        return texts[0]


def read_xmlbif(path: Path, *, normalise: bool = False) -> BayesianNetwork:
    """Read a network, as :func:`exactlearn.read_network` does.

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
    elements: list[Any] = [*root.iter()]
    is_early = any(element.tag == "PROBABILITY" for element in elements)
    declared = Declarations(path, normalise=normalise)
    for element in elements:
        if element.tag == "VARIABLE":
            _add_variable(element, declared, is_early=is_early)
        elif element.tag in ("DEFINITION", "PROBABILITY"):
            name = element.required_text("FOR")
            numbers = element.required_text("TABLE").split()
            declared.add_table(name, element.texts("GIVEN"), numbers, element.fault)
    return declared.network()


def _add_variable(
    variable: _Element, declared: Declarations, *, is_early: bool
) -> None:
    """Declare a variable, in the tags of version 0.3 or of those before."""
    name = variable.required_text("NAME")
    # Decisions and utilities are refused.
    kind = variable.get("TYPE", "nature")
    if kind.lower() not in ("nature", "discrete"):
        raise variable.fault(
            f'expected variables TYPE="nature", found {kind!r} of {name!r}: only networks of such '
            "variables are read; remove it, or give it states and probabilities"
        )
    states = variable.texts("OUTCOME")
    if is_early and not states:
        states = variable.texts("VALUE")
    if not states:
        children = ", ".join(f"<{child.tag}>" for child in variable)
        raise variable.fault(
            f"expected the states of {name!r}, each in an <OUTCOME>, found only {children}: write "
            "its states so (<VALUE> is only of the formats with <PROBABILITY>)"
        )
    # Properties are texts, a key before its value.
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
    # Tags and attributes are taken in capitals, without namespaces.
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    builder = Xml.TreeBuilder(_Element)

    def place() -> str:
        return f"{path}, line {skipped + parser.CurrentLineNumber}"

    def start(tag: str, attributes: dict[str, str]) -> None:
        capitals = {key.upper(): value for key, value in attributes.items()}
        element: Any = builder.start(tag.rpartition(" ")[2].upper(), capitals)
        element.place = place()

    def refuse_entity(name: str, is_parameter: bool) -> None:
        if not is_parameter:
            raise FormatError(
                f"{place()}: expected XML, found the undefined entity &{name};: write it"
            )

    parser.StartElementHandler = start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.SkippedEntityHandler = refuse_entity
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        message = expat.errors.messages[error.code]
        raise FormatError(
            f"{path}, line {skipped + error.lineno}, column {error.offset + 1}: expected XML "
            f"({message}): correct it"
        ) from error
    except (ValueError, LookupError) as error:
        raise FormatError(
            f"{path}: expected XML ({error}): save it in UTF-8"
        ) from error
    return cast(_Element, builder.close())


def write_xmlbif(network: BayesianNetwork, path: Path) -> None:
    """Write a network in one step; reading it gives the same network, bit for bit.

    Raises
    ------
    OptionError
        When the file cannot be written.
    """
    text = rendered(_TEMPLATE, variables=_WORDS.of(network), escape=escape)
    atomic_write(path, text)
