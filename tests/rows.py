"""Runs whose events are written by hand instead of played."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.commands.playing import play
from planbook.config import Config
from planbook.envs import Selection, Task, Verdict
from planbook.planner import Body, Ending, Figures, Outcome, Reply, Spending, Usage
from planbook.results import read_run
from planbook.results.rows import NOT_PLAYED, EpisodeResult
from planbook.results.summary import Summary, summarise
from planbook.runs import EpisodeEntry, Run
from planbook.workers import Execution
from tests.command import ROOT

SOLVED, FAILED, BROKEN = Outcome.DIRECT_SUCCESS, Outcome.FAILURE, Outcome.BROKEN
Endings = Sequence[Outcome | None]


def fetch(number: int) -> Task:
    """Return a task of the toy environment."""
    return Task(id=f"fetch/{number}", env="toy", split="all", type="fetch", goal="put it there", seed=number)


def request_body(
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


def write_run(folder: Path, endings: Endings, repeats: int = 1, env: str = "toy", **asked: Any) -> Path:
    """Write a run with these outcomes and return its folder.

    None stands for an episode without an ending. The first episodes of all tasks come before their repeats.
    """
    tasks = [fetch(number).model_copy(update={"env": env}) for number in range(len(endings) // repeats)]
    config = Config(**{"planner": "procedures", "env": "toy", "actions": 9, "repeats": repeats} | asked)
    with closing(Run.create(folder, config, tasks)) as run:
        for entry, outcome in zip(run.entries(), endings, strict=True):
            if outcome is not None:
                cause, verdict = "" if outcome.solved else outcome.value, Verdict(outcome.solved, 1.0 * outcome.solved)
                ending = Ending(outcome=outcome, cause=cause, verdict=verdict)
                run.store.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
    return folder


def new_run(folder: Path, *types: str, planner: str = "adapt", env: str = "toy") -> Run:
    """Return a run without events that has one task of each of these types."""
    tasks = [Task(id=f"{kind}/{n}", env=env, split="all", type=kind, goal="g") for n, kind in enumerate(types)]
    return Run.create(folder, Config(planner=planner, env=env, actions=9), tasks)


def summary_of(run: Run) -> Summary:
    """Return the summary of a run."""
    return summarise(list(read_run(run).episodes.values()), 1.0, str(run.folder))


class EpisodeWriter:
    """Writes the events of one episode, as a planning method would."""

    def __init__(self, run: Run, path: str) -> None:
        self.run, self.path, self.scope = run, path, f"{path}/round/0"
        self._numbers: dict[tuple[str, str], int] = {}

    def put(self, scope: str, kind: Any, body: dict[str, Any]) -> None:
        """Write the next event of this kind in a scope."""
        number = self._numbers.get((scope, kind), 0)
        self._numbers[scope, kind] = number + 1
        self.run.store.put(scope, kind, number, body)

    def plan(self, number: int, actions: int = 0, **more: bool) -> None:
        """Write the plan of a round of Devil's Advocate. A round is an attempt with one plan."""
        body = {"round": number, "parts": ["a"], "revision": number > 0, "actions": actions, **more}
        span = {"at": "moment", "name": "plan", "title": "", "status": "", "data": body}
        self.put(f"{self.scope}/advocate/0", "span", span)

    def branch(self, number: int, idea: int, fate: str, **more: Any) -> None:
        """Write a branch of a search of Devil's Advocate: a piece of code that was tried, and what became of it."""
        body = {"round": number, "number": 0, "subtask": "a", "idea": idea, "code": "x", "fate": fate, **more}
        self.put(f"{self.scope}/advocate/0", "branch", body)

    def end(self, outcome: Outcome | None) -> None:
        """Write the ending. If the outcome is None, the episode has not ended, and nothing is written."""
        if outcome is not None:
            ending = Ending(outcome=outcome, cause="" if outcome.solved else outcome.value)
            self.put(self.path, "outcome", ending.model_dump(mode="json"))


def figures_of(
    folder: Path, write: Callable[[EpisodeWriter, Any], object], *episodes: tuple[Any, Outcome | None], types: str = ""
) -> Mapping[str, Figures]:
    """Return the figures of methods in a run of these episodes. ``write`` writes the events of an episode."""
    with closing(new_run(folder, *(types or "a" * len(episodes)))) as run:
        for entry, (happened, outcome) in zip(run.entries(), episodes, strict=True):
            writer = EpisodeWriter(run, entry.path)
            write(writer, happened)
            writer.end(outcome)
        return summary_of(run).methods


def results(entries: Sequence[EpisodeEntry], endings: Mapping[int, Ending]) -> list[EpisodeResult]:
    """Return the results of episodes. ``endings`` maps the indices of episodes that were run to their endings."""
    return [EpisodeResult(entry, ending=endings.get(entry.index, NOT_PLAYED)) for entry in entries]


def toy_run(folder: Path, planner: str, seeds: int = 6, **asked: Any) -> Path:
    """Play tasks of the toy environment; `automanual` gets a scripted model."""
    model = {"default": f"scripted:{ROOT}/tests/toy_script.py:answer"} if planner == "automanual" else {}
    selection = Selection(seeds=tuple(range(seeds)))
    config = Config(
        **{"planner": planner, "env": "toy", "selection": selection, "actions": 30, "models": model} | asked
    )
    play(config, folder, Execution())
    return folder


def summed(
    types: str,
    endings: Mapping[int, Ending],
    *,
    repeats: int = 1,
    spent: Spending | None = None,
    all_milestones: Sequence[str] = (),
) -> Summary:
    """Summarise episodes whose types are the letters of ``types``. ``endings`` maps their numbers to their endings."""
    tasks = [Task(id=f"{kind}/{n}", env="toy", split="all", type=kind, goal=f"g {n}") for n, kind in enumerate(types)]
    entries = [EpisodeEntry(index=n, task=task, repeat=n * repeats // len(types)) for n, task in enumerate(tasks)]
    return summarise(results(entries, endings), 1.0, "run", spent or Spending(), all_milestones=all_milestones)
