"""Every block of the README and of the guide runs, page by page, as a newcomer would run it.

The blocks of a page run in order, in one folder that is empty at first: ``python``, ``toml`` (a run
file, ``run.toml``) and ``sh`` (each line a command). Behind the language stands what else a block
needs: ``requires=NAME`` a package that may be absent, ``data`` public tables, ``minutes`` patience;
of blocks with the last two the options are read, and nothing is run. ``text`` is what is printed.
"""

import re
import shlex
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from exactlearn.__main__ import main

ROOT = Path(__file__).parents[1]
GUIDE = sorted(
    page
    for page in (ROOT / "docs").rglob("*.md")
    if page.parent.name not in ("reference", "_build")
)
PAGES = [ROOT / "README.md", *GUIDE]
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SET_UP = (
    "pip install"  # installing is CI's part: .ci/run takes its command from the README
)
NOT_RUN = {"data", "minutes"}
SHOWN = {"", "text", "json", "bibtex"}
README = PAGES[0].read_text(encoding="utf-8")


def blocks(page):
    """Return the language, the further words and the text of each block that is no directive."""
    found = []
    for head, text in FENCED.findall(page.read_text(encoding="utf-8")):
        language, *words = head.split() or [""]
        if not language.startswith("{") and language != "mermaid":
            found.append((language, words, text))
    return found


def run_command(line):
    program, *arguments = shlex.split(line, comments=True)
    assert program == "exactlearn", line
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, f"{line}\n{done.output}"


def check_command(line):
    """Read the options of a command that takes too long, or tables that are not bundled."""
    program, name, *arguments = shlex.split(line, comments=True)
    assert program == "exactlearn", line
    command = main.get_command(click.Context(main), name)
    command.make_context(name, arguments)


def page_id(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.filterwarnings("ignore:unclosed file")  # of a peer's reader
@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for language, words, text in blocks(page):
        needed = [
            word.removeprefix("requires=") for word in words if word not in NOT_RUN
        ]
        if SET_UP in text or not all(map(find_spec, needed)):
            continue
        if language == "python":
            with warnings.catch_warnings(action="ignore" if needed else None):
                for (
                    name
                ) in needed:  # other packages warn, and some end where that is an error
                    import_module(name)
                exec(compile(text, str(page), "exec"), names)
        elif language == "toml":
            Path("run.toml").write_text(text, encoding="utf-8")
        elif language == "sh":
            take = check_command if NOT_RUN & set(words) else run_command
            for line in text.replace("\\\n", " ").strip().splitlines():
                take(line)
        else:
            assert language in SHOWN, (
                f"a block in {language!r}: neither run nor printed text"
            )


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_in_running_text_have_options_that_exist(page):
    prose = FENCED.sub("", page.read_text(encoding="utf-8"))
    for line in re.findall(r"`(exactlearn [a-z][^`]+ [^`]+)`", prose):
        words = shlex.split(line)[1:]
        if "|" not in words and not words[0].startswith("-"):
            command = main.get_command(click.Context(main), words[0])
            known = {
                flag
                for one in command.params
                for flag in (*one.opts, *one.secondary_opts)
            }
            flags = {
                word.split("=")[0] for word in words[1:] if re.match("--?[a-z]", word)
            }
            assert flags <= known | {"--help"}, line


def test_the_readme_is_short():
    assert len(README.splitlines()) < 150


def test_set_up_commands_are_one_line_each():
    commands = [text.strip() for _, _, text in blocks(PAGES[0]) if SET_UP in text]
    assert len(commands) == 3
    assert all("\n" not in command for command in commands)
    assert commands[0].endswith("exactlearn run asia")
    assert "-m pytest" in commands[1]
    assert "sphinx-build" in commands[2]


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_to_files(page):
    for target in re.findall(
        r"\]\(([^):#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")
    ):
        assert (page.parent / target).exists(), target
