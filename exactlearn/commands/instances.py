"""``exactlearn instances``: the bundled networks, data sets and run files."""

import shutil
from pathlib import Path

from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Instances
from exactlearn.commands.output import Output
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.instances import bundled

KINDS = {".bif": "network", ".csv": "data set", ".toml": "run file"}


def run(options: Instances, output: Output) -> Answer:
    """Run the command."""
    chosen = [path for name in options.names for path in _matching(name)] or list(bundled())
    if output.path is not None:
        _copy(chosen, output)
    elif options.names and not output.as_json:
        texts = [path.read_text(encoding="utf-8").rstrip("\n") for path in chosen]
        return Answer(record={}, shown="\n".join(texts))
    record = {
        "instances": [{"name": p.stem, "kind": KINDS[p.suffix], "file": str(p)} for p in chosen]
    }
    return Answer(record=record)


def _matching(name: str) -> list[Path]:
    found = [path for path in bundled() if name in (path.stem, path.name)]
    if not found:
        known = {path.stem for path in bundled()}
        raise OptionError(f"no bundled instance {name!r}{did_you_mean(name, sorted(known))}")
    return found


def _copy(paths: list[Path], output: Output) -> None:
    assert output.path is not None
    output.path.mkdir(parents=True, exist_ok=True)
    for path in paths:
        shutil.copyfile(path, output.path / path.name)
        output.wrote(output.path / path.name)
