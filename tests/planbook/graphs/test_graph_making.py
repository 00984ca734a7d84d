"""`planbook graph new`: whole sessions at the terminal."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from planbook.cli import planbook
from planbook.planner.graph import read_graph


def session(path: Path, *lines: str) -> Result:
    """What is said to those answers, one a line; then standard input is at its end, as after Ctrl-D."""
    answered = "".join(f"{line}\n" for line in lines)
    return CliRunner().invoke(planbook, ["graph", "new", str(path)], input=answered, standalone_mode=False)


FORECAST = ("weather", "What does this forecast mean for a walk?", "$db.forecast$", "", "", "The forecast", "", "", "")
"""Name, prompt, its end, yes: an input, what it is, a text, stored nowhere, keep it."""
DECIDE = ("decide", "Shall we go?", "", "1", "4", "go, stay", "verdict", "")
PACK = ("pack", "What do we take with us?", "", "weather, decide", "6", "things, reason", "", "y", "", "", "")


def test_a_graph_is_made_by_answering_questions(tmp_path: Path) -> None:
    path = tmp_path / "trip.yaml"
    done = session(path, "Decides on a trip", *FORECAST, *DECIDE, *PACK, "")
    assert done.return_value == 0, done.output
    assert path.read_text() == (
        "about: Decides on a trip\n"
        "inputs:\n"
        "  forecast: The forecast\n"
        "nodes:\n"
        "  weather:\n"
        "    prompt: |\n"
        "      What does this forecast mean for a walk?\n"
        "      $db.forecast$\n"
        "  decide:\n"
        "    prompt: Shall we go?\n"
        "    after: [weather]\n"
        "    expect: 'one of: go, stay'\n"
        "    store: verdict\n"
        "  pack:\n"
        "    prompt: What do we take with us?\n"
        "    after: [weather, decide]\n"
        "    expect:\n"
        "      things: text\n"
        "      reason: text\n"
        "    when:\n"
        "      decide: go\n"
    )
    assert path.read_text() in done.output, "what was made is shown"
    assert f"planbook graph run {path} --set forecast=... --model openai:NAME\n" in done.output
    assert read_graph(path).graph().layers() == [["weather"], ["decide"], ["pack"]]


def test_what_cannot_be_used_is_said_and_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "trip.yaml"
    done = session(
        path,
        *("", "?", "Decides on a trip"),
        *("", "7 days", "answer", "The weather", "?", "", "What does it mean?", ""),
        *("9", "?", "yes", "4", "go", "go, GO", "go, stay", "2 b", "?", "-", "maybe", "y"),
        *("the-weather", "pack", "What?", "", "?", "3", "wether", "-", "2", "plan..x", "", "Y"),
        *("the-weather", "x", "STAY", ""),
        "",
    )
    assert done.return_value == 0, done.output
    for said in (
        "A few words, please.",
        "'' cannot be a name",
        "'7 days' cannot be a name",
        "'answer' cannot be a name",
        "A prompt needs words.",
        "$db.question$ stands for what is kept",
        "'9' is none of them; write a number from 1 to 7.",
        "'one of: go' needs two or more different choices",
        "'2 b' cannot be kept under",
        "There is a node The-weather already",
        "There is no 3.",
        'There is no wether; did you mean "The-weather"?',
        "There is no x.",
    ):
        assert said in done.output, said
    nodes = read_graph(path).graph().nodes
    assert list(nodes) == ["The-weather", "pack"]
    assert nodes["pack"].after == ()
    assert str(nodes["pack"].when) == "The-weather is stay"


def test_stopping_loses_nothing_and_the_next_session_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "trip.yaml"
    stopped = session(path, "Decides on a trip", *FORECAST, "decide", "Shall we go?")
    assert type(stopped.exception).__name__ == "Abort"
    assert list(read_graph(path).graph().nodes) == ["weather"]
    path.write_text(f"# by hand\n{path.read_text()}")
    again = session(path, *DECIDE, "")
    assert again.return_value == 0, again.output
    assert "has weather already" in again.output
    assert list(read_graph(path).graph().nodes) == ["weather", "decide"]
    assert path.read_text().startswith("# by hand\nabout: Decides")
    assert [each.name for each in tmp_path.iterdir()] == ["trip.yaml"]


def test_a_node_that_does_not_fit_is_told_why_and_made_again(tmp_path: Path) -> None:
    path = tmp_path / "trip.yaml"
    done = session(
        path,
        "A trip",
        *("a", "Say $db.x$ or $db.unended", "", "n", "", ""),
        *("Say it.", "", "", "", "n"),
        *("Say it again: $5 and {{ x }}: #1 - 'quoted' \"too\"", "", "", "", ""),
        "",
    )
    assert done.return_value == 0, done.output
    assert "nothing sets x." in done.output
    assert "$db.unended begins a look-up that does not end; write $db.unended$" in done.output
    assert done.output.count("Once more, a.") == 2
    assert read_graph(path).nodes[0].prompt == "Say it again: $5 and {{ x }}: #1 - 'quoted' \"too\""


def test_the_node_that_writes_code_may_be_that_of_the_steps(tmp_path: Path) -> None:
    path = tmp_path / "act.yml"
    done = session(path, "Acts", "act", "Act.", "", "7", "", "", "y", "")
    assert done.return_value == 0, done.output
    assert read_graph(path).code == "act"
    assert session(path, "more", "Act.", "", "-", "7", "", "", "").return_value == 0, "asked once"


def test_a_condition_on_yes_is_no_boolean(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    sure = ("sure", "Sure?", "", "2", "", "", "why", "Why?", "", "", "1", "", "y", "", "", "")
    assert session(path, "x", *sure, "").return_value == 0
    assert '      sure: "yes"\n' in path.read_text()
    assert str(read_graph(path).nodes[1].when) == "sure is yes"


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("nodes: {a: {promt: x}}\n", "a.yaml", "mend it first"),
        (b"\xff", "a.yaml", "cannot be read as a graph"),
        (None, "none/a.yaml", "there is no folder"),
    ],
)
def test_a_file_that_cannot_be_added_to_is_refused(tmp_path: Path, content: Any, name: str, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = session(tmp_path / name)
    assert message in str(done.exception)


def test_a_graph_without_nodes_is_not_written(tmp_path: Path) -> None:
    stopped = session(tmp_path / "a", "About")
    assert type(stopped.exception).__name__ == "Abort"
    assert list(tmp_path.iterdir()) == []
