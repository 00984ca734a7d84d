"""The examples that are not run by a page of the documentation."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from runpy import run_path

import pytest

from tests.openai_server import serving
from tests.pages import FETCH, ROOT, command_env, script

EXAMPLES = ROOT / "examples"


class Ollama(BaseHTTPRequestHandler):
    """The part of Ollama's API that the example uses."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = str(asked["messages"])
        things = ["coin", "apple", "book", "key", "lamp", "pen", "ring", "spoon"]
        content = f"```python\n{FETCH.format([thing for thing in things if f'the {thing}' in prompt])}```"
        reply = {"model": asked["model"], "message": {"role": "assistant", "content": content}}
        body = json.dumps({**reply, "prompt_eval_count": 100, "eval_count": 10}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def ollama() -> Iterator[str]:
    """Serve on a free port and yield the address."""
    server = HTTPServer(("127.0.0.1", 0), Ollama)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_example_of_a_model_class_plays(tmp_path: Path) -> None:
    with ollama() as address:
        done = script(tmp_path, "", f"{EXAMPLES}/own_model.py", "llama3.2", address)
    assert "model calls" in done.stdout, done.stderr
    assert "fetch/0" in done.stdout


def test_the_agent_loop_answers_and_refuses_harmful_code(tmp_path: Path) -> None:
    def reply(messages: list[dict[str, str]]) -> str:
        if len(messages) == 2:
            return "```python\nopen('/etc/passwd')\n```"
        return "```python\nanswer(', '.join(name for name in stock('fruit') if name[0] == 'p'))\n```"

    with serving(reply) as server:
        done = script(tmp_path, server.url, f"{EXAMPLES}/agent_loop.py", "any", "Which fruits start with p?")
    assert done.stdout == "peach, pear, plum\n", done.stderr
    assert "`open`" in server.requests[-1]["messages"][-1]["content"]


def test_the_script_for_ci_finds_faulty_plans(tmp_path: Path) -> None:
    sound, faulty = EXAMPLES / "plans" / "fetch_wine.py", tmp_path / "faulty.py"
    faulty.write_text("agent.fly('north')\n")
    for plans, code in (((sound,), 0), ((faulty, sound), 1)):
        command = [EXAMPLES / "check_plans.sh", EXAMPLES / "cellar.py", *plans]
        done = subprocess.run(command, cwd=tmp_path, env=command_env(""), capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert ("faulty.py:1: unknown-action" in done.stdout) == bool(code)


@pytest.mark.deep
def test_the_notebook_runs(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    cells = json.loads((EXAMPLES / "read_a_run.ipynb").read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    (tmp_path / "notebook.py").write_text(f"{code}\nprint(actions.groupby('action.name').size())\n")
    done = script(tmp_path, "", "notebook.py")
    assert "craft" in done.stdout, done.stderr


def test_the_example_of_a_model_class_says_that_no_server_answers(tmp_path: Path) -> None:
    with ollama() as address:
        pass
    done = script(tmp_path, "", f"{EXAMPLES}/own_model.py", "llama3.2", address)
    assert done.returncode == 1
    assert "did not answer" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_new_note_replaces_no_other_note() -> None:
    notes = run_path(str(EXAMPLES / "tools" / "notes.py"))["Notes"]({"notes": ["milk", "bread"]})
    notes.remove(1)
    assert notes.add("tea") == 3
    assert notes.numbers() == [2, 3]
