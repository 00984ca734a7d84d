"""Every command and option that README.md or `--help` names occurs in a case, or is listed here with a reason."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.blackbox.harness import ROOT, cases, named_runs, planbook

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = "\n".join([README, *(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md")))])
GROUPS = ("graph", "skills")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
SERVED = (
    "--env --option --paper-actions --split --types --seeds --task --limit --seed --actions --library "
    "--unsafe-no-sandbox"
).split()
LISTED = {
    **dict.fromkeys(("join", "join --jobs", "join --json", "join --prices"), "test_processes.py"),
    "join --unsafe-no-sandbox": "test_processes.py",
    **dict.fromkeys(("mcp", *(f"mcp {option}" for option in SERVED)), "test_processes.py"),
    "skills verify --option": "planbook/export/test_skills.py",
    **dict.fromkeys(("watch", "watch --port", "watch --no-browser"), "planbook/watching/test_watch_server.py"),
    **dict.fromkeys(
        ("build --goals", "exec --goals", "test --goals"),
        "one reader serves all commands that play: `run --goals` is a case",
    ),
    "build --store": "one store serves all commands that play: `run --store` is a case",
    "exec --store": "the same",
    **dict.fromkeys(
        (f"effect --{option}" for option in ("goals", "option", "paper", "paper-actions", "store", "task")),
        "it plays what `test` plays: these are cases of `test`",
    ),
    "fork --store": "the same",
    "rerun --store": "the same",
    "test --store": "the same",
}
FOREIGN = {"--no-deps": "an option of pip"}
PROCESSES = {130: "test_processes.py interrupts a run"}


@cache
def _help(*command: str) -> str:
    finished = planbook(*command, "--help", cwd=Path.cwd())
    assert finished.code == 0, finished.printed
    assert '[default: ""]' not in finished.out, "an empty default says nothing"
    return finished.out


@cache
def _commands() -> tuple[str, ...]:
    """Return every command that `--help` lists. A command of a group has two words, such as `graph run`."""
    found = []
    for name in re.findall(r"^  ([a-z][a-z-]*)  ", _help(), re.MULTILINE):
        inner = _help(name).partition("Commands:")[2] if name in GROUPS else ""
        found += [f"{name} {each}" for each in re.findall(r"^  ([a-z]+)  ", inner, re.MULTILINE)] or [name]
    return tuple(found)


@cache
def _options(command: str) -> frozenset[str]:
    lines = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", _help(*command.split()), re.MULTILINE)
    return frozenset(lines) - {"--help"}


def _command_of(line: str) -> str:
    words = line.split()
    return " ".join(words[: 2 if words[0] in GROUPS else 1])


def _exercised() -> set[str]:
    """Return the commands and options of all cases."""
    found = set()
    for line in [*named_runs().values(), *(line for case in cases() for line in case.lines)]:
        command = _command_of(line)
        found |= {
            command,
            *(f"{command} {option}" for option in OPTION.findall(f"{line} ".replace(" -o ", " --option "))),
        }
    return found


def _in_pages() -> list[str]:
    """Return the words after `planbook` in the code of README.md and of the pages in docs."""
    code = re.findall(r"```(?:text|console|sh)\n(.*?)```", PAGES, re.DOTALL) + re.findall(r"`([^`\n]+)`", PAGES)
    lines = [line for block in code for line in block.splitlines()]
    return [line.split("planbook ", 1)[1] for line in lines if re.match(r"(\$ )?planbook [a-z]", line)]


def test_every_command_and_option_in_help_has_a_case_or_a_reason() -> None:
    named = {f"{command} {option}" for command in _commands() for option in _options(command)} | {*_commands()}
    assert sorted(named - _exercised() - LISTED.keys()) == []
    assert sorted(LISTED.keys() - named) == []


def test_every_option_of_the_readme_is_an_option_of_a_command() -> None:
    known = {option for command in _commands() for option in _options(command)}
    assert sorted({*OPTION.findall(README)} - known - FOREIGN.keys()) == []


def test_every_command_line_of_the_readme_fits_its_command() -> None:
    lines = [line for line in _in_pages() if _command_of(line) in _commands()]
    assert len(lines) > 30
    wrong = [
        (line, option) for line in lines for option in OPTION.findall(line) if option not in _options(_command_of(line))
    ]
    assert wrong == []


def test_readme_and_help_name_the_same_commands() -> None:
    named = {word for line in _in_pages() for word in line.split()[:1]}
    assert named - {command.split()[0] for command in _commands()} == set()
    tops = {command.split()[0] for command in _commands()}
    assert tops - named <= {"demo"}


def test_every_documented_exit_code_has_a_case() -> None:
    table = PAGES.partition("## Exit codes")[2].partition("\n## ")[0]
    documented = {int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
    assert documented >= {0, 1, 2, 3, 4, 130}
    assert documented - {case.code for case in cases()} - PROCESSES.keys() == set()


def test_every_command_that_prints_an_object_has_its_keys_listed() -> None:
    printing = {command for command in _commands() if "--json" in _options(command)}
    assert printing - {_command_of(case.line) for case in cases() if case.keys} == {"join"}


@pytest.mark.parametrize("command", _commands())
def test_help_says_what_a_command_does(command: str) -> None:
    usage, _, text = _help(*command.split()).partition("\n\n")
    assert usage.partition(" [")[0].endswith(f"planbook {command}")
    assert re.match(r"  [A-Z].*?\.\s", text, re.DOTALL)


def test_the_version_is_printed() -> None:
    assert re.search(r"\d+\.\d+\.\d+", planbook("--version", cwd=Path.cwd()).out)
