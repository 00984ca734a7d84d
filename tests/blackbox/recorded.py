"""Plays shipped recordings, and describes the results as the text of a data file.

The text has, for each episode that `planbook export` writes, each action with a digest of its observation, each cell (a
piece of plan code that was run as a unit) with its result and a digest of its feedback, and the ending. The figures of
`--json` follow.
"""

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from tests.blackbox.harness import RECORDINGS, SHIPPED, Finished, planbook

BROWSER_RECORDINGS = (*sorted(path.stem for path in SHIPPED.glob("*-web.jsonl")), "miniwob-feedback")
"""Recordings of tasks in a browser. Another version or other fonts render the pages differently."""
GAMES = ("alfworld-train",)
"""Recordings of games that must be downloaded."""
PLAYED = (*GAMES, *BROWSER_RECORDINGS)
"""The recordings that have no golden file in `tests/planbook/golden`."""
CHANGING = ("seconds", "run")
"""Figures that depend on the clock and on the folder."""


class PlayedRecording(NamedTuple):
    """A finished command that played a recording, its run, and the text that describes the results."""

    finished: Finished
    run: Path
    text: str = ""


def command(name: str) -> list[str]:
    """Return the command that the first line of a recording names."""
    words: str = json.loads((SHIPPED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[0])["command"]
    return words.split()


def play_recording(name: str, folder: Path) -> PlayedRecording:
    """Play a recording, and describe the results."""
    run = folder / "run"
    finished = planbook(*command(name), "--model", f"recorded:{name}", "--out", run, "--json", cwd=folder)
    if finished.code != 0:
        return PlayedRecording(finished, run)
    episodes = export_episodes(run)
    figures = {key: value for key, value in finished.result.items() if key not in CHANGING}
    lines = [line for episode in episodes for line in _episode(episode)]
    return PlayedRecording(finished, run, "\n".join([*lines, json.dumps(figures, sort_keys=True), ""]))


def export_episodes(run: Path) -> list[Any]:
    """Return the episodes of a run as `planbook export` prints them."""
    printed = planbook("export", run, cwd=run.parent)
    assert printed.code == 0, printed.printed
    return [json.loads(line) for line in printed.out.removesuffix("\n").split("\n")]


def read_data_file(name: str) -> tuple[Sequence[str], dict[str, Any]]:
    """Return the lines of a data file, and its figures."""
    *lines, figures = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return lines, json.loads(figures)


def _episode(episode: Any) -> Iterator[str]:
    yield f"{episode['task']['id']} {episode['repeat']}: {episode['task']['goal']}"
    for each in episode["rounds"]:
        happened = [(step["order"], _step(step)) for step in each["steps"]]
        happened += [(cell["order"], _cell(cell)) for cell in each["cells"]]
        yield f"  round {_digest(each['observation'])}"
        yield from (line for _, line in sorted(happened))
    ending, verdict = episode["ending"], episode["ending"]["verdict"]
    line = f"{ending['outcome']} {ending['cause']} solved {verdict['solved']} score {verdict['score']:.4g}"
    yield f"  {' '.join(line.split())}, {ending['actions']} actions, {ending['error_steps']} errors"


def _step(step: Any) -> str:
    action, observation = step["action"], step["observation"]
    values = [json.dumps(value) for value in action.get("args", ())]
    values += [f"{name}={json.dumps(value)}" for name, value in action.get("kwargs", {}).items()]
    marks = [mark for mark in ("undone", "counted", "terminated", "accepted") if {**observation, **step}.get(mark)]
    return f"  {action['name']}({', '.join(values)}) {_digest(observation['text'])} {' '.join(marks)}"


def _cell(cell: Any) -> str:
    feedback = cell["feedback"]
    return f"  cell {cell['source']} {_digest(cell['code'])}: {feedback['kind']} {_digest(feedback['text'])}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]
