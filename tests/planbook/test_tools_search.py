"""Above 50 tools, a prompt lists only those that are most similar to the goal. Plans can search for the others."""

from pathlib import Path

import pytest

from planbook.envs import Environment, load_environment
from planbook.planner import action_docs
from planbook.planner.agent import ActionDocs
from tests.flows import asks, events, invoke, prompt, write_scripted_model

THINGS = [f"{colour}_{thing}" for colour in ("red", "blue", "old") for thing in ("door", "lamp", "boat", "tent")]
VERBS = ("open", "paint", "sell", "weigh", "describe")
FUNCTION = '''
def {verb}_{thing}(times: int = 1) -> str:
    """{title} the {spoken} so many times."""
    return "{verb} {spoken} " * times
'''
PLAN = """
found = agent.search("weigh the blue boat")
print(found)
print(agent.describe(found[0]))
print(agent.describe("agent.sell_old_lamp(2)"))
print(agent.describe("sell_old_lump"))
agent.answer(agent.weigh_blue_boat(2))
"""


@pytest.fixture
def tools(tmp_path: Path) -> str:
    functions = [
        FUNCTION.format(verb=verb, thing=thing, title=verb.title(), spoken=thing.replace("_", " "))
        for thing in THINGS
        for verb in VERBS
    ]
    (tmp_path / "many.py").write_text("".join(functions))
    judge = "{answer: 'weigh blue boat weigh blue boat'}"
    (tmp_path / "tasks.yaml").write_text(f"tasks: [{{id: a, goal: Weigh the blue boat twice., judge: {judge}}}]")
    return f"module:{tmp_path}/many.py"


def list_tools(environment: type[Environment], goal: str = "", **options: object) -> ActionDocs:
    return action_docs(environment, environment.Options.model_validate(options), goal)


def names(docs: ActionDocs) -> list[str]:
    return [each.name for each in docs.actions]


def test_a_prompt_lists_the_most_similar_tools_within_its_budget(tools: str) -> None:
    environment = load_environment(tools)
    assert len(environment.actions) == 61
    assert names(list_tools(environment, "Weigh the blue boat"))[0] != "answer"
    few = list_tools(environment, "Weigh the blue boat", listed_tokens=200)
    assert "weigh_blue_boat" in names(few)
    assert "answer" in names(few)
    assert 4 < len(names(few)) < 20
    assert len(names(list_tools(environment, "Weigh the blue boat", listed_tokens=2_000))) > len(names(few))
    assert [each.name for each in few.queries] == ["search", "describe"]
    assert not set(names(list_tools(environment, "Weigh it", listed_tokens=200))) & {"sell_old_lamp", "open_red_door"}


def test_a_tool_that_does_not_fit_leaves_room_for_smaller_ones(tools: str, tmp_path: Path) -> None:
    with (tmp_path / "many.py").open("a") as file:
        file.write(f'def weigh() -> str:\n    """Weigh the blue boat. {"Long words. " * 100}"""\n')
    few = names(list_tools(load_environment(tools), "Weigh the blue boat", listed_tokens=200))
    assert "weigh" not in few
    assert "weigh_blue_boat" in few


def test_few_tools_are_all_listed_without_a_search(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def go() -> None:\n    ...\n")
    docs = list_tools(load_environment(f"module:{tmp_path}/one.py"), "Weigh")
    assert (sorted(names(docs)), docs.queries) == (["answer", "go"], ())


def test_a_plan_finds_unlisted_tools(tools: str, tmp_path: Path) -> None:
    env = ("--env", tools, "-o", f"tasks={tmp_path}/tasks.yaml", "-o", "listed_tokens=300", "--planner", "automanual")
    model = ("--model", write_scripted_model(tmp_path, f"### Understanding\nMany.\n### Code\n```python\n{PLAN}```"))
    played = invoke("run", *env, *model, "--out", tmp_path / "run", "--json")
    assert (played.returncode, played.result["solved"]) == (0, 1), played.printed
    asked = prompt(asks(tmp_path / "run")[0])
    assert "agent.weigh_blue_boat(" in asked
    assert "agent.search(" in asked
    assert "agent.open_red_door(" not in asked
    (cell,) = (event.body for event in events(tmp_path / "run", "cell"))
    shown = " ".join(str(cell["feedback"]["output"]).split())  # type: ignore[index, call-overload]
    assert "['weigh_blue_boat(times: int = 1) -> str'" in shown
    assert "agent.weigh_blue_boat(times: int = 1) -> str Weigh the blue boat so many times." in shown
    assert "agent.sell_old_lamp(times: int = 1) -> str Sell the old lamp" in shown
    assert "There is no 'sell_old_lump'" in shown
