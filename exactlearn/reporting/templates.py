"""The Jinja templates of this package: pages, views in notebooks, pictures."""

from functools import cache
from typing import Any


@cache
def _environment() -> Any:
    """Return the environment of the templates, which escape every text."""
    from jinja2 import Environment, PackageLoader  # no command but a page needs it

    return Environment(
        loader=PackageLoader("exactlearn.reporting", ""), autoescape=True
    )


def rendered(name: str, /, **content: Any) -> str:
    """Return the text of a template with its content."""
    text: str = _environment().get_template(name).render(**content)
    return text


@cache
def macros(name: str) -> Any:
    """Return the macros of a template: functions that return ``Markup``."""
    return _environment().get_template(name).module
