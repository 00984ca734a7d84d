"""No secret of an MCP server reaches a prompt or a file of a run."""

import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.envs.test_tools_mcp import SECRET, UNRULY, name_servers, serving_http
from tests.flows import asks, invoke, prompt, write_scripted_model

PLAN = """
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
    _run(tmp_path, server, PLAN.replace("agent.bad.", "agent."))
    assert "${PLANBOOK_TEST_KEY}" in (tmp_path / "run" / "run.json").read_text()


def _run(folder: Path, env: str, plan: str = PLAN) -> None:
    (folder / "tasks.yaml").write_text(TASKS)
    model = write_scripted_model(folder, f"### Understanding\nIt answers.\n### Code\n```python\n{plan}```")
    options = ("--env", env, "-o", f"tasks={folder}/tasks.yaml", "-o", "timeout=20", "--planner", "automanual")
    played = invoke("run", *options, "--model", model, "--out", folder / "run", "--json")
    assert played.returncode == 0, played.printed
    prompts = "\n".join(map(prompt, asks(folder / "run")))
    assert "the key is ***" in prompts
    assert "Key ***." in prompts
    invoke("report", folder / "run", "--out", folder / "run" / "report.html")
    files = [path for path in (folder / "run").rglob("*") if path.is_file()]
    assert {"run.json", "run.db", "report.html"} <= {path.name for path in files}
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in prompts + played.printed
