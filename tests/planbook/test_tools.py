"""The user's own tools: learned procedures, the tools that a prompt lists, and secrets of MCP servers."""

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest
from pydantic import JsonValue

from planbook.envs import Environment, load_environment
from planbook.planner import action_docs
from planbook.planner.agent import ActionDocs
from tests.command import ROOT
from tests.envs.test_tools_mcp import SECRET, UNRULY, name_servers, serving_http
from tests.flows import asks, events, invoke, prompt, succeed, write_scripted_model

EXAMPLES = ROOT / "examples" / "tools"
MODEL = ("--model", f"scripted:{ROOT}/tests/tools_script.py:answer")
NOTES: list[dict[str, JsonValue]] = [
    {"notes": ["old milk", "bread"], "word": "old"},
    {"notes": ["salt", "new soap", "new tea"], "word": "new"},
    {"notes": ["a book", "old tea", "a bookshelf"], "word": "book"},
    {"notes": ["salt"], "word": "pepper"},
]
NOTES_JUDGE = "not any(task['params']['word'] in agent.read(n)['text'] for n in agent.numbers())"
FILES: list[dict[str, JsonValue]] = [{"part": part} for part in ("alpha", "nothing", "a", "?")]
FILES_JUDGE = """
having = [name for name in agent.list_files() if task["params"]["part"] in agent.read_file(name)]
assert agent.sizes() == {name: len(agent.read_file(name)) for name in having}
"""


def tasks_file(folder: Path, kind: str, goal: str, judge: str, params: list[dict[str, JsonValue]]) -> tuple[str, str]:
    """Write two tasks to build on and two to test, and return the option that names the file."""
    tasks = [
        {
            "id": f"{kind}/{number}",
            "type": kind,
            "split": "test" if number > 2 else "train",
            "goal": goal.format(**each),
            "params": each,
            "judge": {"assert": judge},
        }
        for number, each in enumerate(params, 1)
    ]
    (folder / "tasks.json").write_text(json.dumps({"tasks": tasks}))
    return "-o", f"tasks={folder / 'tasks.json'}"


def assert_learned(env: Sequence[str], folder: Path, building: str, testing: str, tasks: int) -> None:
    """Build on the tasks of one selection, and check that the tasks of another are solved without a model."""
    built = succeed("build", *env, *building.split(), *MODEL, "--out", folder / "built", "--json")
    assert built.result["solved"] == built.result["tasks"] > 1, built.printed
    library = ("--library", folder / "built", "--out", folder / "tested", "--json")
    tested = succeed("test", *env, *testing.split(), *library)
    assert (tested.result["solved"], tested.result["tasks"]) == (tasks, tasks), tested.printed
    assert tested.result["model_calls"] == 0


def test_functions_of_a_module_are_learned(tmp_path: Path) -> None:
    goal = "Remove every note that has the word {word!r}."
    env = ("--env", f"module:{EXAMPLES}/notes.py:Notes", *tasks_file(tmp_path, "tidy", goal, NOTES_JUDGE, NOTES))
    assert_learned(env, tmp_path, "", "--split test", 2)
    unknown = invoke("test", *env, "--types", "tidi", "--out", tmp_path / "none")
    assert "has no task type tidi; did you mean tidy?" in unknown.printed


@pytest.mark.deep
def test_tools_of_an_mcp_server_are_learned(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    goal = "Put the sizes of all files that have the text {part!r} into the table."
    server = f"mcp:{sys.executable} {EXAMPLES}/files_server.py"
    env = ("--env", server, *tasks_file(tmp_path, "sizes", goal, FILES_JUDGE, FILES))
    assert_learned(env, tmp_path, "", "--split test", 2)


def test_a_gymnasium_environment_is_learned(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    env = ("--env", "gym:Taxi-v4", "-o", "threshold=1")
    assert_learned(env, tmp_path, "--tasks-per-type 2", "--seeds 1000-1009", 10)


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


LEAKING_PLAN = """
for call in [agent.bad.secret, agent.bad.tell, agent.bad.fail, lambda: agent.bad.odd_name("x")]:
    try:
        print(call())
    except RuntimeError as error:
        print(error)
raise ValueError(agent.bad.secret())
"""
TASKS = "tasks: [{id: a, goal: Find out the key., judge: {answer: 1}}]"


@pytest.mark.parametrize("transport", ["http", pytest.param("stdio", marks=pytest.mark.deep)])
def test_no_file_of_a_run_contains_a_secret(transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANBOOK_TEST_KEY", SECRET)
    command: dict[str, object] = {
        "command": sys.executable,
        "args": [str(UNRULY)],
        "env": {"SERVER_KEY": "$PLANBOOK_TEST_KEY"},
    }
    with serving_http(tmp_path) if transport == "http" else nullcontext(command) as server:
        _run(tmp_path, name_servers(tmp_path, server))


def test_a_variable_in_a_command_is_recorded_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANBOOK_TEST_KEY", SECRET)
    server = f"mcp:env SERVER_KEY=${{PLANBOOK_TEST_KEY}} {sys.executable} {UNRULY}"
    _run(tmp_path, server, LEAKING_PLAN.replace("agent.bad.", "agent."))
    assert "${PLANBOOK_TEST_KEY}" in (tmp_path / "run" / "run.json").read_text()


def _run(folder: Path, env: str, plan: str = LEAKING_PLAN) -> None:
    (folder / "tasks.yaml").write_text(TASKS)
    model = write_scripted_model(folder, f"### Understanding\nIt answers.\n### Code\n```python\n{plan}```")
    options = ("--env", env, "-o", f"tasks={folder}/tasks.yaml", "-o", "timeout=20", "--planner", "automanual")
    played = succeed("run", *options, "--model", model, "--out", folder / "run", "--json")
    prompts = "\n".join(map(prompt, asks(folder / "run")))
    assert "the key is ***" in prompts
    assert "Key ***." in prompts
    invoke("report", folder / "run", "--out", folder / "run" / "report.html")
    files = [path for path in (folder / "run").rglob("*") if path.is_file()]
    assert {"run.json", "run.db", "report.html"} <= {path.name for path in files}
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in prompts + played.printed
