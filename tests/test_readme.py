"""Every block of the README runs, in order, in one folder, as a newcomer would run it."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from exactlearn.__main__ import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PROSE = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
COMMANDS_IN_PROSE = re.findall(r"`(exactlearn [^`]+ [^`]+)`", PROSE)
SET_UP = "pip install"  # installing is CI's part: .ci/run takes its command from here


def run_command(line):
    program, *words = shlex.split(line)
    assert program == "exactlearn"
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, f"{line}\n{done.output}"


def test_blocks_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ran = []
    for language, text in BLOCKS:
        if language == "python":
            exec(compile(text, "README.md", "exec"), {"__name__": "__main__"})
        elif language == "toml":
            Path("run.toml").write_text(text, encoding="utf-8")
        elif language == "sh" and SET_UP not in text:
            for line in text.strip().splitlines():
                run_command(line)
        else:
            continue
        ran.append(language)
    assert set(ran) == {"python", "sh", "toml"}
    assert "optimal" in capsys.readouterr().out


@pytest.mark.parametrize("line", COMMANDS_IN_PROSE)
def test_commands_in_running_text_need_no_other_file(line, tmp_path, monkeypatch):
    """One named a network that is not bundled."""
    monkeypatch.chdir(tmp_path)
    if "reproduce" in line:  # takes minutes: its options are read only
        command = main.get_command(None, "reproduce")
        assert command.make_context("reproduce", shlex.split(line)[2:]).params["paper"]
    elif "|" not in line:
        run_command(line)


def test_the_two_set_up_commands_are_one_line_each():
    commands = [text.strip() for language, text in BLOCKS if SET_UP in text and language == "sh"]
    assert len(commands) == 2
    assert all("\n" not in command for command in commands)
    assert commands[0].endswith("exactlearn run asia")
    assert "-m pytest" in commands[1]


def test_links_lead_to_files():
    for target in re.findall(r"\]\(([^):]+)\)", README):
        assert (ROOT / target).exists(), target
