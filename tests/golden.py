"""Golden files: the prompts, actions and endings of each recording's episodes, in `tests/planbook/golden/NAME.txt`.

Each prompt is one line: its scope, its role and template, the numbers of its messages and characters, and its digest.
Actions, observations and endings are shown as text. After a change that is meant to affect them, write the files
again, and commit them with that change and nothing else:

    python -m tests.golden

To read what changed in the prompts, write them out before and after the change, and compare the two folders:

    python -m tests.golden --prompts FOLDER
"""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from planbook.runs import Run
from tests.flows import command_of, invoke
from tests.planbook.recorded_episodes import EPISODES

FOLDER = Path(__file__).parent / "planbook" / "golden"
WRITTEN = (*EPISODES, "alfworld-generated")
"""The recordings that have a golden file: those that need neither a browser nor a download."""
MAX_SHOWN = 200
"""Maximum characters of an observation that are shown. A longer one is cut, and its digest is added."""
COLUMNS = (
    *("building", "tasks", "solved", "interval", "unplayed_by_type", "mean_actions", "mean_error_steps"),
    *("model_calls", "tokens", "money", "paying"),
)
"""Columns of `planbook stats` that are the same each time a recording is played."""


def play(name: str, run: Path) -> Any:
    """Play a recording, including its learning, and write the run to a folder. Return the command's result."""
    command = command_of(name)
    played = invoke(*command, "--model", f"recorded:{name}", "--out", run, "--json")
    assert played.returncode == 0, played.printed
    if command[0] == "build":
        formulated = invoke("formulate", run)
        assert formulated.returncode == 0, formulated.printed
    return played.result


def golden_text(name: str) -> str:
    """Return the text of a recording's golden file."""
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def golden(run: Path) -> str:
    """Return the text of the golden file for a run: its episodes, its prompts and its statistics."""
    episodes = [line for episode in _exported(run) for line in _episode(episode)]
    (row,) = invoke("stats", run, "--json").result["rows"]
    figures = {name: row[name] for name in COLUMNS}
    return "\n".join([*episodes, *map(_prompt, _asked(run)), f"figures {json.dumps(figures)}", ""])


def write_prompts(run: Path, folder: Path) -> None:
    """Write each prompt of a run to a file of its own."""
    folder.mkdir(parents=True)
    for number, (_, body) in enumerate(_asked(run)):
        text = "\n\n".join(f"===== {message['role']} =====\n{message['content']}" for message in body["messages"])
        (folder / f"{number:04}.txt").write_text(f"{body['role']}: {body['template']}\n\n{text}\n", encoding="utf-8")


def _exported(run: Path) -> list[Any]:
    file = run.with_name(f"{run.name}.jsonl")
    written = invoke("export", run, "--out", file)
    assert written.returncode == 0, written.printed
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _asked(run: Path) -> list[tuple[str, Any]]:
    """Return the scope and the body of the event of each prompt, in episodes and in learning."""
    with closing(Run.open(run)) as opened:
        return [(event.scope, event.body) for event in opened.store.events(kind="ask")]


def _episode(episode: Any) -> Iterator[str]:
    yield f"episode {episode['task']['id']} repeat {episode['repeat']}"
    events = []
    for turn in episode["rounds"]:
        events.append((turn["order"], f"  round {turn['number']}: {_shown(turn['observation'])}"))
        events += [(step["order"], _step(step)) for step in turn["steps"]]
        events += [(cell["order"], f"  cell of {cell['source']}: {cell['feedback']['kind']}") for cell in turn["cells"]]
    yield from (line for _, line in sorted(events))
    yield f"  ending {json.dumps({name: value for name, value in episode['ending'].items() if value != ''})}"


def _prompt(asked: tuple[str, Any]) -> str:
    scope, body = asked
    messages = body["messages"]
    characters = sum(len(message["content"]) for message in messages)
    digest = _digest(json.dumps(messages, ensure_ascii=False))
    kind = f"{body['role']}: {body['template']}"
    return f"prompt {scope} {kind}, {len(messages)} messages, {characters} characters, {digest}"


def _step(step: Any) -> str:
    action, observation = step["action"], step["observation"]
    named = (f"{name}={value!r}" for name, value in action.get("kwargs", {}).items())
    values = ", ".join([*map(repr, action.get("args", ())), *named])
    marks = [mark for mark in ("undone", "terminated") if step.get(mark) or observation.get(mark)]
    return " ".join([f"  {action['name']}({values}) -> {_shown(observation['text'])}", *marks])


def _shown(text: str) -> str:
    return repr(text) if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]!r}... {_digest(text)}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def main() -> None:
    """Write the golden files, or the prompts of all recordings to a folder."""
    prompts = Path(sys.argv[2]) if sys.argv[1:2] == ["--prompts"] else None
    for name in WRITTEN:
        with TemporaryDirectory() as folder:
            play(name, run := Path(folder) / "run")
            if prompts is None:
                (FOLDER / f"{name}.txt").write_text(golden(run), encoding="utf-8")
            else:
                write_prompts(run, prompts / name)


if __name__ == "__main__":
    main()
