"""Helpers that compare runs, whose endings a test chooses, with the tables of papers."""

from collections.abc import Callable, Mapping
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

from planbook.config import Config
from planbook.console import SafeConsole
from planbook.envs import Task
from planbook.papers import Publication, PublishedTable, publications
from planbook.papers.comparison import ComparedPaper, compare_with_papers, paper_tables
from planbook.papers.differences import OurRun, our_run
from planbook.planner import Ending, Outcome
from planbook.results import read_run
from planbook.results.measures import known_milestones
from planbook.results.summary import summarise
from planbook.runs import EpisodeEntry, Run
from planbook.terminal import print_parts
from tests.command import ROOT
from tests.rows import request_body

AUTOMANUAL, ADAPT, DEPS, AGENTKIT, ADVOCATE = publications()
ENVIRONMENTS = ROOT / "tests" / "paper_environments.py"
ALFWORLD_TASKS = {
    "pick_and_place": 24,
    "pick_clean_then_place": 31,
    "pick_heat_then_place": 23,
    "pick_cool_then_place": 21,
    "look_at_obj": 18,
    "pick_two_obj": 17,
}
"""Maps each task type to its number of unseen games in ALFWorld."""


def table(paper: Publication, number: int) -> PublishedTable:
    """Return the only table of a paper with that number."""
    (found,) = [each for each in paper.tables if each.table == number]
    return found


def values(paper: Publication, number: int, method: str, variant: str = "", model: str = "") -> dict[str, float]:
    """Return the figures of the only matching row of a table; an empty ``variant`` or ``model`` matches any."""
    rows = [each for each in table(paper, number).rows if each.method == method and variant in ("", each.variant)]
    (row,) = [each for each in rows if model in ("", each.model)]
    return row.values


class Comparison:
    """The comparison of a run with papers, and its tables as printed."""

    def __init__(self, ours: OurRun) -> None:
        self.ours, self.papers = ours, compare_with_papers(ours)
        assert self.papers
        screen = SafeConsole(file=StringIO(), width=140)
        print_parts(screen, paper_tables(ours, self.papers))
        assert isinstance(screen.file, StringIO)
        self.text = screen.file.getvalue()

    def paper(self, name: str = "") -> ComparedPaper:
        """Return the comparison with the paper of that name, or with the only paper."""
        (found,) = [each for each in self.papers if name in ("", each.paper)]
        return found

    def tables(self, paper: str = "") -> list[int]:
        """Return the numbers of the paper's tables."""
        return [each.table.table for each in self.paper(paper).tables]

    def differs(self, paper: str = "") -> dict[str, tuple[str, str]]:
        """Map each difference from the paper's setting to our value and theirs."""
        return {each.what: (each.ours, each.theirs) for each in self.paper(paper).differs}

    def row(self, title: str, name: str) -> list[str]:
        """Return the cells of the row ``name``, without the name, in the first table whose title contains ``title``."""
        lines = self.text.partition(title)[2].split("└")[0].splitlines()
        (line,) = [each for each in lines if each.startswith(f"│ {name} ")]
        return [cell.strip() for cell in line.strip("│").split("│")][1:]


def solved_if(solved: bool, **more: Any) -> Ending:
    """Return the ending of an episode that was solved or failed."""
    return Ending(outcome=Outcome.DIRECT_SUCCESS if solved else Outcome.FAILURE, cause="" if solved else "x", **more)


def compare(
    folder: Path,
    config: Config,
    counts: Mapping[str, int],
    ending: Callable[[EpisodeEntry], Ending],
    *,
    model: str = "",
    params: Mapping[str, Any] | None = None,
    events: Callable[[Run, EpisodeEntry], None] = lambda run, entry: None,
) -> Comparison:
    """Write a run below the folder, and compare it with the papers. ``counts`` maps task types to numbers of tasks."""
    tasks = [
        Task(id=f"{kind}/{number}", env=config.env, split="s", type=kind, goal="g", params=dict(params or {}))
        for kind, count in counts.items()
        for number in range(count)
    ]
    path = folder / f"run {len(list(folder.iterdir()))}"
    with closing(Run.create(path, config, tasks)) as run:
        if model:
            run.store.put("task/0", "ask", 0, request_body("planner", "openai:x", "t", served=model))
        for entry in run.entries():
            events(run, entry)
            run.store.put(entry.path, "outcome", 0, ending(entry).model_dump(mode="json"))
        results = list(read_run(run).episodes.values())
    summary = summarise(results, 1.0, str(path), all_milestones=known_milestones(config))
    return Comparison(our_run(summary))
