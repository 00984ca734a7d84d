"""Rows of a store, as a run would write them."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.commands.playing import play
from planbook.config import Config
from planbook.envs import Selection, Task, Verdict
from planbook.planner import Body, Ending, Outcome, Reply, Usage
from planbook.results.rows import NOT_PLAYED, Result
from planbook.runs import Entry, Run
from planbook.workers import Hosting
from tests.command import ROOT

SOLVED, FAILED, BROKEN = Outcome.DIRECT_SUCCESS, Outcome.FAILURE, Outcome.BROKEN
Endings = Sequence[Outcome | None]


def fetch(number: int) -> Task:
    """Return a task of the toy environment."""
    return Task(id=f"fetch/{number}", env="toy", split="all", type="fetch", goal="put it there", seed=number)


def ask(
    role: str,
    model: str,
    template: str,
    prompt: int = 0,
    cached: int = 0,
    completion: int = 0,
    seconds: float = 0.0,
    served: str = "",
) -> Body:
    """Return the body of a request to a model, with its reply."""
    usage = Usage(prompt=prompt, cached=cached, completion=completion)
    return {
        "role": role,
        "model": model,
        "template": template,
        "sampling": {"temperature": 0.0},
        "messages": [{"role": "user", "content": "?"}],
        "left_out": 0,
        "cut_characters": 0,
        "reply": Reply(text="!", usage=usage, seconds=seconds, model=served).model_dump(mode="json"),
    }


def written(folder: Path, endings: Endings, repeats: int = 1, env: str = "toy", **asked: Any) -> Path:
    """Write a run with these outcomes; None means no ending. The first episodes of all tasks come before repeats."""
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


def results(entries: Sequence[Entry], endings: Mapping[int, Ending]) -> list[Result]:
    """Return the results of episodes with these endings, by index; an episode without one was not run."""
    return [Result(entry, ending=endings.get(entry.index, NOT_PLAYED)) for entry in entries]


def toy_run(folder: Path, planner: str, seeds: int = 6, **asked: Any) -> Path:
    """Play tasks of the toy environment; `automanual` gets a scripted model."""
    model = {"default": f"scripted:{ROOT}/tests/toy_script.py:answer"} if planner == "automanual" else {}
    selection = Selection(seeds=tuple(range(seeds)))
    config = Config(
        **{"planner": planner, "env": "toy", "selection": selection, "actions": 30, "models": model} | asked
    )
    play(config, folder, Hosting())
    return folder
