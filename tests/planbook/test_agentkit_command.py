"""AgentKit on the command line, with a graph from a file and a model for each role that the graph names."""

from pathlib import Path

import pytest

from planbook.config import Config, effective_options
from tests.flows import Finished, invoke
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


def play(folder: Path, *more: str, graph: str = "mine.yaml") -> Finished:
    task = ("--planner", "agentkit", "--env", "toy", "--task", "fetch/0")
    graph = str(folder / graph) if graph.endswith(".yaml") else graph
    options = ("--planner-option", f"graph={graph}", "--planner-option", "steps=2")
    return invoke("run", *task, *options, "--out", folder / "run", *more)


def test_a_graph_from_a_file_asks_the_roles_that_it_names(folder: Path) -> None:
    models = (f"scout=scripted:{folder / 'models.py'}:scout", f"graph=scripted:{folder / 'models.py'}:act")
    finished = play(folder, "--model", models[0], "--model", models[1], "--json")
    assert finished.returncode == 0, finished.printed
    assert (finished.result["model_calls"], finished.result["mean_actions"]) == (4, 2.0)
    assert invoke("report", folder / "run").returncode == 0
    page = Page(folder / "run" / "report.html")
    assert any("promptlook2" in table.replace(" ", "").replace("\n", "") for table in page.all("table"))


@pytest.mark.parametrize(
    ("graph", "role", "messages"),
    [
        ("mine.yaml", "scouts=", ("there is no role 'scouts'", "scout,")),
        ("nosuch", "", ("there is no graph nosuch; name a YAML file",)),
        ("broken.yaml", "", ("broken.yaml:3:",)),
    ],
)
def test_unknown_roles_and_unreadable_graphs_are_refused(
    folder: Path, graph: str, role: str, messages: tuple[str, ...]
) -> None:
    (folder / "broken.yaml").write_text("nodes:\n  act:\n    expect: codes\n    prompt: Go on.\ncode: act\n")
    refused = play(folder, "--model", f"{role}scripted:{folder / 'models.py'}:act", graph=graph)
    assert refused.returncode == 2
    assert all(message in refused.printed for message in messages), refused.printed
    assert not (folder / "run").exists()


def test_options_have_defaults_that_depend_on_the_environment() -> None:
    config = Config(planner="agentkit", env="shopping", actions=1, models={})
    expected = {"graph": "shopping", "steps": 25, "actions_per_step": None, "max_concurrent": 1}
    assert effective_options(config, "shopping") == expected
    assert effective_options(config, "toy")["graph"] == "general"
