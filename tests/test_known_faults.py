"""Known faults in the code of the papers, and the tests that show that planbook does not have them.

``COVERED`` maps each fault to its tests. The faults that no other file tests are tested in this one.
"""

import ast
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.planner import (
    METHODS,
    Episode,
    EpisodeSettings,
    FeedbackKind,
    MemoryJournal,
    NoMemory,
    ScriptedModel,
    play,
)
from planbook.planner.roles import Roles
from planbook.planner.strategies.automanual import AutoManualOptions
from planbook.runs import Run
from planbook.sandbox import Sandbox
from planbook.workers import play_episodes

ROOT = Path(__file__).parents[1]
PACKAGES = ("envs", "manuals", "planbook", "planner", "rules", "sandbox")
HERE = "tests/test_known_faults.py"

COVERED = {
    "plans run by bare exec in the host": (
        f"{HERE}::test_no_plan_runs_in_this_process",
        "tests/sandbox/test_attacks.py::test_no_attack_has_an_effect_on_the_host",
        "tests/sandbox/test_lockdown.py::test_plain_python_in_a_locked_worker_is_refused",
    ),
    "the replan loop copied seven times": (
        f"{HERE}::test_no_function_is_a_copy_of_another",
        "tests/planner/test_automanual.py::test_the_number_of_replans_is_limited",
    ),
    "a world's variant copied instead of shared": (
        f"{HERE}::test_no_function_is_a_copy_of_another",
        "tests/envs/test_alfworld_engines.py::test_both_engines_play_generated_games_alike",
    ),
    "a failed episode dropped from the denominator": (
        "tests/planbook/results/test_summary.py::test_broken_and_unplayed_episodes_count_as_not_solved",
        "tests/planner/test_automanual.py::test_replies_that_stay_unusable_are_a_failure_of_kind_parse",
    ),
    "a guard against success rules from failures that never fires": (
        "tests/rules/test_rule_cases.py::test_each_case_may_write_certain_types_of_rules",
        "tests/rules/test_building_cases.py::test_edits_that_a_case_forbids_are_left_out",
    ),
    "rule ids renumbered inside prose": (
        "tests/rules/test_rule_edits.py::test_ids_are_not_reused_and_prose_is_not_renumbered",
        "tests/rules/test_rule_properties.py::test_no_id_is_assigned_twice",
    ),
    "consolidation that can loop for ever": (
        "tests/rules/test_consolidating.py::test_a_model_that_never_stops_is_stopped",
        "tests/rules/test_consolidating.py::test_a_model_whose_edits_are_always_refused_is_stopped",
    ),
    "a manual renderer that corrupts code": (
        "tests/manuals/test_markdown.py::test_a_rendered_manual_is_read_back",
        "tests/manuals/test_markdown.py::test_any_reader_sees_the_example_unchanged_and_nothing_escapes",
    ),
    "one bad rule call half-applying a batch": (
        "tests/rules/test_rule_system.py::test_valid_calls_before_a_bad_one_are_not_applied",
        "tests/rules/test_rule_properties.py::test_a_batch_is_applied_whole_or_not_at_all",
        "tests/rules/test_building_cases.py::test_a_refused_batch_is_asked_for_again",
    ),
    "and/or without brackets silently read as and": (f"{HERE}::test_and_and_or_bind_in_plans_as_in_python",),
    "an empty plan taken as done": (
        f"{HERE}::test_an_empty_plan_is_not_done",
        "tests/planner/test_plan_reading.py::test_a_reply_without_usable_code_is_refused_with_a_reason",
    ),
    "a plan that only defines functions taken as run": (
        "tests/planner/test_plan_reading.py::test_a_plan_that_only_defines_functions_is_refused",
        "tests/planner/test_automanual.py::test_a_reply_that_only_defines_functions_is_asked_again_and_costs_no_replan",
    ),
    "actions after the end of an episode accepted": (
        "tests/planner/test_episode.py::test_the_action_that_ends_the_episode_does_not_return",
        "tests/envs/test_toy.py::test_a_solution_ends_the_episode_and_later_actions_are_refused",
    ),
    "seeds not recorded": (f"{HERE}::test_every_seed_of_a_run_is_recorded",),
    "keys and paths read at import": (f"{HERE}::test_importing_reads_no_key_and_no_path_of_the_user",),
    "model output repaired by string replacement": (
        f"{HERE}::test_odd_code_reaches_the_sandbox_unchanged",
        "tests/planner/test_plan_reading.py::test_the_code_of_a_reply_is_not_repaired",
        "tests/rules/test_building_cases.py::test_odd_code_reaches_the_rule_unchanged",
        "tests/planner/graph/test_graph_shapes.py::test_json_is_read_unchanged_whatever_surrounds_it",
    ),
    "a graph with a cycle silently returning nothing": (
        "tests/planner/graph/test_graph_edits.py::test_a_cycle_is_an_error_before_the_first_query",
        "tests/planner/graph/test_graph_edits.py::test_a_missing_dependency_is_an_error_before_the_first_query",
        "tests/planner/graph/test_graph_edits.py::test_a_cycle_that_an_edit_makes_is_an_error_before_the_next_query",
    ),
}


@pytest.mark.parametrize("fault", COVERED)
def test_every_named_test_exists(fault: str) -> None:
    for named in COVERED[fault]:
        file, _, name = named.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, named


def modules() -> list[Path]:
    """Return the files of our modules, except for procedures and helpers, which are plan code."""
    found = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    return [path.relative_to(ROOT) for path in found if path.parent.name not in ("procedures", "helpers")]


@cache
def parts() -> Sequence[tuple[Path, ast.AST]]:
    """Return every function and every call in our own modules, with its file."""
    trees = ((path, ast.parse((ROOT / path).read_text(encoding="utf-8"))) for path in modules())
    kinds = (ast.FunctionDef, ast.Call)
    return [(path, node) for path, tree in trees for node in ast.walk(tree) if isinstance(node, kinds)]


def test_no_plan_runs_in_this_process() -> None:
    """Only the worker and the loader of environment files call exec or eval."""
    found = {
        path.as_posix()
        for path, node in parts()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval")
    }
    assert {path for path in found if not path.startswith("sandbox/worker/")} == {"envs/registry.py"}


def test_no_function_is_a_copy_of_another() -> None:
    """Only functions with at least three statements are compared. Shorter ones may be equal by chance."""
    shapes: defaultdict[tuple[str, ...], list[tuple[str, list[ast.stmt]]]] = defaultdict(list)
    for path, node in parts():
        if isinstance(node, ast.FunctionDef):
            body = node.body[ast.get_docstring(node) is not None :]
            nodes = [inner for statement in body for inner in ast.walk(statement)]
            if sum(isinstance(inner, ast.stmt) for inner in nodes) >= 3:
                shapes[tuple(type(inner).__name__ for inner in nodes)].append((f"{path}: {node.name}", body))
    assert len(shapes) > 300
    copies: defaultdict[str, list[str]] = defaultdict(list)
    for name, body in (function for functions in shapes.values() if len(functions) > 1 for function in functions):
        copies["\n".join(map(ast.dump, body))].append(name)
    assert [names for names in copies.values() if len(names) > 1] == []


def episode(sandbox: Sandbox, *replies: str, journal: MemoryJournal | None = None) -> Episode:
    task = Toy.tasks(Selection(ids=("fetch/0",)))[0]
    roles = Roles(lambda role: ScriptedModel(replies), {})
    return Episode(task, Toy(), sandbox, journal or MemoryJournal(), settings=EpisodeSettings(actions=9), roles=roles)


@pytest.mark.parametrize(
    ("expression", "calls"),
    [
        ("no() and no() or yes()", "no yes"),
        ("yes() or no() and no()", "yes"),
        ("(yes() or no()) and no()", "yes no"),
    ],
)
def test_and_and_or_bind_in_plans_as_in_python(sandbox: Sandbox, expression: str, calls: str) -> None:
    playing = episode(sandbox)
    playing.begin()
    code = "def yes():\n    print('yes')\n    return True\ndef no():\n    print('no')\n    return False\n"
    feedback = playing.run(f"{code}done = {expression}")
    assert feedback.output.split() == calls.split()
    playing.close()


@pytest.mark.parametrize("code", ["", "   \n", "pass", "# done", "'''done'''", "...", "def f():\n    pass"])
def test_an_empty_plan_is_not_done(sandbox: Sandbox, code: str) -> None:
    playing = episode(sandbox)
    playing.begin()
    assert playing.run(code).kind is FeedbackKind.CHECK
    assert not playing.ending().outcome.solved
    playing.close()


ODD = [
    r"""print('''a "b" 'c' ``` \\n \t {{ x }} {% y %} <b>&amp;</b>''')""",
    r"""print(r"\d+\s*$", "\\\\", 'it\'s', "\x41\u00e9\N{BULLET}")""",
    "print('“curly” ’quotes’ … – and\u00a0spaces')",
    "print(*[1, 2], **{'sep': ' ** '})",
    "print(f\"{'x':>{4}}|{3!r:^5}|{{}}\")",
    "print('one');print('two') ; x = 1 if True else 2  # two in one line",
    "if True:\n\tprint('a tab')\n\tprint('''\n\tinside\n  ```python\n  code\n  ```\n''')",
    "print('```')\nprint(\"~~~\")",
    "agent_open = 'agent.open(box 1)'\nprint(agent_open, 'Assert', 'None', 'True,')",
]


@pytest.mark.parametrize("code", ODD)
def test_odd_code_reaches_the_sandbox_unchanged(
    sandbox: Sandbox, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(code, "odd", "exec"), {})
    expected = capsys.readouterr().out
    journal = MemoryJournal()
    playing = episode(sandbox, f"### Understanding\nOdd.\n### Code\n```python\n{code}\n```", journal=journal)
    play(playing, METHODS["automanual"].play, AutoManualOptions(replans=0))
    assert playing.feedbacks[0].kind is FeedbackKind.UNFINISHED, playing.feedbacks[0].text
    assert playing.feedbacks[0].output == expected
    (cell,) = [body for (_, kind, _), body in journal.events.items() if kind == "cell"]
    assert cell["code"] == code


def test_every_seed_of_a_run_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("def answer(messages, sampling):\n    return 'print(agent.table())'\n")
    script = f"scripted:{tmp_path / 'script.py'}:answer"
    config = Config(
        planner="automanual",
        planner_options={"replans": 0},
        env="toy",
        actions=5,
        repeats=2,
        seed=7,
        selection=Selection(seeds=(3,), types=("fetch",)),
        models={"default": script},
    )
    run = Run.create(tmp_path / "run", config, config.environment.tasks(config.selection))
    run.begin_invocation()
    assert play_episodes(run, NoMemory(), lambda entry, ending: None)
    written: Any = json.loads((tmp_path / "run" / "run.json").read_text())
    assert written["config"]["seed"] == 7
    tasks: list[Any] = [row.body for row in run.store.events("task", "task")]
    assert [body["task"]["seed"] for body in tasks] == [3, 3]
    asked: list[Any] = [row.body for row in run.store.events("task", "ask")]
    assert [body["sampling"]["seed"] for body in asked] == [7, 8], "the seed of the run, and another one for the repeat"
    run.close()


IMPORTING = """
import importlib, os, sys
from pathlib import Path

root, names = sys.argv[1], sys.argv[2:]
reads = []
readers = (os.__file__, os.path.__file__, sys.modules["pathlib"].__file__, "<frozen os>", "<frozen posixpath>")
readers += ("<frozen _collections_abc>",)


def record(name):
    frame = sys._getframe(2)
    while frame.f_code.co_filename in readers:
        frame = frame.f_back
    if frame.f_code.co_filename.startswith(root) and "site-packages" not in frame.f_code.co_filename:
        reads.append(f"{frame.f_code.co_filename}:{frame.f_lineno} reads {name}")


class Watched(type(os.environ)):
    def __getitem__(self, name):
        record(name)
        return super().__getitem__(name)

    def __iter__(self):
        record("everything")
        return super().__iter__()


os.environ.__class__ = Watched
for name in names:
    importlib.import_module(name)
print(*reads, sep="\\n")
reads.clear()
exec(compile("import os; os.environ.get('A'); os.getenv('B'); os.path.expanduser('~'); Path.home()", root, "exec"))
assert {read.split()[-1] for read in reads} == {"A", "B", "HOME"}, reads
"""


def test_importing_reads_no_key_and_no_path_of_the_user() -> None:
    """Every module is imported without a home folder, and with nonsense in the variables that our code reads later."""
    names = [
        ".".join(("planbook", *path.with_suffix("").parts))
        .replace("planbook.planbook", "planbook")
        .removesuffix(".__init__")
        for path in modules()
        if path.name != "__main__.py"
    ]
    assert len(names) > 150
    poisoned = {
        "HOME": "/nonexistent",
        "PATH": "/nonexistent",
        "OPENAI_API_KEY": "",
        "OPENAI_BASE_URL": "::no address::",
        "ALFWORLD_DATA": "/nonexistent/\udcff",
        "PLANBOOK_CHROMIUM": "/nonexistent",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-c", IMPORTING, f"{ROOT}/", *names]
    done = subprocess.run(command, cwd="/", env=poisoned, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
