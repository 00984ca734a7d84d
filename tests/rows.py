"""Rows of a store as a run writes them, made by hand; and commands that read them."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from pydantic import JsonValue

from planbook.cli import planbook as command
from planbook.commands.playing import play
from planbook.config import Config
from planbook.envs import Selection, Task, Verdict
from planbook.planner import Body, Ending, Outcome
from planbook.runs import Run
from planbook.workers import Hosting
from tests.command import ROOT

SOLVED, FAILED, BROKEN = Outcome.DIRECT_SUCCESS, Outcome.FAILURE, Outcome.BROKEN
Endings = Sequence[Outcome | None]


def fetch(number: int) -> Task:
    """A task of the toy environment."""
    return Task(id=f"fetch/{number}", env="toy", split="all", type="fetch", goal="put it there", seed=number)


def ask(role: str, model: str, template: str, prompt: int, cached: int, completion: int, seconds: float) -> Body:
    """A question to a model and its reply."""
    usage: dict[str, JsonValue] = {"prompt": prompt, "cached": cached, "completion": completion, "estimated": False}
    return {
        "role": role,
        "model": model,
        "template": template,
        "sampling": {"temperature": 0.0},
        "messages": [{"role": "user", "content": "?"}],
        "left_out": 0,
        "cut_characters": 0,
        "reply": {"text": "!", "usage": usage, "seconds": seconds, "model": "", "replayed": False, "finish": "stop"},
    }


def written(folder: Path, endings: Endings, repeats: int = 1, env: str = "toy", **asked: Any) -> Path:
    """A run whose episodes ended like this; None has no ending. With repeats, the first of each task come first."""
    tasks = [
        Task(id=f"fetch/{number}", env=env, split="all", type="fetch", goal="put it there", seed=number)
        for number in range(len(endings) // repeats)
    ]
    config = Config(**{"planner": "procedures", "env": "toy", "actions": 9, "repeats": repeats} | asked)
    with closing(Run.create(folder, config, tasks)) as run:
        for entry, outcome in zip(run.entries(), endings, strict=True):
            if outcome is not None:
                cause = "" if outcome.solved else outcome.value
                ending = Ending(outcome=outcome, cause=cause, verdict=Verdict(outcome.solved, 1.0 * outcome.solved))
                run.store.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
    return folder


def run_command(*arguments: object) -> tuple[int, Any, str]:
    """In this process: the exit code, the object that ends standard output, and what was told."""
    done = CliRunner().invoke(command, [*map(str, arguments), "--json"], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, json.loads(done.stdout.splitlines()[-1]), done.output


def toy_run(folder: Path, planner: str, seeds: int = 6, **asked: Any) -> Path:
    """Play tasks of the toy environment, `automanual` with a scripted model."""
    model = {"default": f"scripted:{ROOT}/tests/toy_script.py:answer"} if planner == "automanual" else {}
    selection = Selection(seeds=tuple(range(seeds)))
    config = Config(
        **{"planner": planner, "env": "toy", "selection": selection, "actions": 30, "models": model} | asked
    )
    play(config, folder, Hosting(), as_json=True)
    return folder
