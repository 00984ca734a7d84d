"""`planbook replay RUN`: a recorded run once more, and where it diverges."""

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from planbook import errors
from planbook.console import console
from planbook.replay import Comparison, Sameness, replay_run
from planbook.resuming import check_config
from planbook.runs import Entry, Run
from planbook.wording import counted
from planbook.workers import Hosting


class Replayed(BaseModel):
    """What a replay of a recorded run found. ``by_sameness`` counts episodes; ``differences`` are by task id.

    ``verdicts_changed`` counts those that were solved only then, or only now.
    """

    model_config = ConfigDict(frozen=True)

    episodes: int
    by_sameness: dict[str, int]
    differences: dict[str, Comparison]
    verdicts_changed: int
    seconds: float
    run: str


def compare_run(folder: Path, hosting: Hosting, *, as_json: bool) -> tuple[int, Replayed]:
    """Play a recorded run again, print the first difference of each episode, and return the exit code."""
    begun = time.monotonic()
    out = console(as_json)
    counts: Counter[str] = Counter({kind.value: 0 for kind in Sameness})
    differences: dict[str, Comparison] = {}

    def on_comparison(entry: Entry, comparison: Comparison) -> None:
        counts[comparison.sameness] += 1
        if comparison.event:
            differences[entry.task.id] = comparison
            out.print(f"{entry.task.id}: {comparison}", markup=False, soft_wrap=True)

    with closing(Run.open(folder)) as run:
        if run.imported or run.config.copies:
            raise errors.BadArgument(
                f"{folder} holds episodes that were played elsewhere; replay the run they come from"
            )
        check_config(run.config, folder)
        finished = replay_run(run, on_comparison, hosting)
    seconds = round(time.monotonic() - begun, 3)
    ways = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    changed = sum(bool(each.then) for each in differences.values())
    told = f" The verdict changed in {changed} of them." if changed else ""
    out.print(f"{counted(counts.total(), 'episode')} replayed in {seconds:.1f} s: {ways or 'none'}.{told}")
    report = Replayed(
        episodes=counts.total(),
        by_sameness=dict(counts),
        differences=differences,
        verdicts_changed=changed,
        seconds=seconds,
        run=str(folder),
    )
    if not finished:
        return errors.INTERRUPTED, report
    return errors.BROKEN if differences else errors.OK, report
