"""AgentKit from the command line: graphs of one's own, the roles that they name, what it cost by node."""

from pathlib import Path

import pytest

from planbook.config import Config, chosen_options
from tests.command import planbook, result
from tests.reported import Page

GRAPH = """
nodes:
  look: {prompt: "What is in {{ db.world.observation }}?", model: scout}
  act: {prompt: "Go on.", after: [look], expect: code}
code: act
"""
MODELS = """
def scout(messages, sampling):
    return "I see boxes."


def act(messages, sampling):
    return "```python\\nagent.open('box_1')\\n```"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(GRAPH)
    (tmp_path / "models.py").write_text(MODELS)
    return tmp_path


def play(folder: Path, *more: str) -> tuple[str, ...]:
    task = ("--planner", "agentkit", "--env", "toy", "--task", "fetch/0")
    options = ("--planner-option", f"graph={folder / 'mine.yaml'}", "--planner-option", "steps=2")
    return ("run", *task, *options, "--out", str(folder / "run"), *more)


def test_a_graph_of_ones_own_asks_the_roles_that_it_names(folder: Path) -> None:
    models = (f"scout=scripted:{folder / 'models.py'}:scout", f"graph=scripted:{folder / 'models.py'}:act")
    finished = planbook(*play(folder, "--model", models[0], "--model", models[1], "--json"))
    assert finished.returncode == 0, finished.stderr
    assert (result(finished)["model_calls"], result(finished)["mean_actions"]) == (4, 2.0)
    assert planbook("report", str(folder / "run")).returncode == 0
    page = Page(folder / "run" / "report.html")
    (prompts,) = (table for table in page.all("table") if table.strip().startswith("by prompt"))
    assert "look2" in prompts.replace(" ", "").replace("\n", "")


def test_a_role_that_no_node_names_is_refused(folder: Path) -> None:
    finished = planbook(*play(folder, "--model", f"scouts=scripted:{folder / 'models.py'}:scout"))
    assert finished.returncode == 2
    assert "there is no role 'scouts'" in finished.stderr
    assert "scout," in finished.stderr


@pytest.mark.parametrize(
    ("graph", "message"),
    [("nosuch", "there is no graph nosuch; name a YAML file"), ("{folder}/broken.yaml", "broken.yaml:3:")],
)
def test_a_graph_that_cannot_be_read_is_reported_before_anything_begins(folder: Path, graph: str, message: str) -> None:
    (folder / "broken.yaml").write_text("nodes:\n  act:\n    expect: codes\n    prompt: Go on.\ncode: act\n")
    named = f"graph={graph.format(folder=folder)}"
    finished = planbook(*play(folder, "--planner-option", named, "--model", "exchange:x"))
    assert finished.returncode == 2
    assert message in finished.stderr
    assert not (folder / "run").exists()


def test_options_that_were_not_given_have_their_defaults() -> None:
    config = Config(planner="agentkit", env="shopping", actions=1, models={})
    assert chosen_options(config, "shopping") == {"graph": "shopping", "steps": 25, "side_by_side": 1}
    assert chosen_options(config, "toy")["graph"] == "general"
