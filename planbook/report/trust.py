"""What a reader has to know to trust the figures: what is counted, broke and was claimed, and what a run is made of."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planbook.config import by_dotted_name
from planbook.outcomes import TYPE_SOLVED, in_words
from planbook.planner import Outcome
from planbook.planner.ending import NOT_JUDGED
from planbook.report import blocks
from planbook.report.blocks import Block, Line, Part, be, link, links, marked, moment
from planbook.results import Result, RunResults, all_claims
from planbook.runs import CODE, Imported
from planbook.store import Schema
from planbook.wording import counted, listed

MEANINGS: Mapping[Outcome, str] = {
    Outcome.DIRECT_SUCCESS: "solved, and no cell ended in an error",
    Outcome.INDIRECT_SUCCESS: "solved, after at least one error",
    Outcome.FAILURE: "played to the end of what its method does, and not solved",
    Outcome.OUT_OF_BUDGET: "not solved when its actions, or what else an episode may use, were used up",
    Outcome.BROKEN: "ended through a fault that is not the agent's: ours, the environment's or the model server's",
    Outcome.NOT_RUN: "not played, or not to its end: the run was stopped, or what it may spend was spent",
}
"""The outcomes, in words."""
FALSE = {
    "solved": "Claimed to be solved, and not solved",
    "not solved": "Claimed not to be solved, or given up, and solved",
}
"""False claims, by what was claimed."""
CLAIMS = {
    "claimed_and_solved": "claimed solved: solved",
    "claimed_and_not": "not solved",
    "denied_and_solved": "claimed not solved: solved",
    "denied_and_not": "not solved",
    "unclaimed_and_solved": "no claim: solved",
    "unclaimed_and_not": "not solved",
    "unplayed": "broken or not played",
}
"""Columns of the table of claims, by field."""
DIGESTS: Mapping[str, str] = {
    "data": "Data that the tasks were played on",
    "prompts": "Prompts",
    "knowledge": "What was known beforehand",
    "models": "Recordings and scripts that answered",
    "prices": "Prices",
}
"""Parts of what a run was begun with, each a digest (SHA-256) by the name of what it is of, and their headings."""
NOT_INSTALLED = "not installed"
MOST = 200
"""Episodes of a kind that are listed, and seeds of tasks."""


def trust_blocks(run: RunResults, anchor: str) -> Iterator[Block]:
    """Give what is counted, what was claimed, and what the run was made of."""
    episodes = [each for each in run.episodes.values() if each.ending.cause != TYPE_SOLVED]
    yield from _counted(run, episodes)
    yield from _not_played(episodes, anchor)
    yield blocks.heading("Claims against the environment's verdict")
    yield from _claims(run, episodes, anchor)
    yield blocks.heading("What the run was made of")
    yield from _made_of(run)


def _counted(run: RunResults, episodes: Sequence[Result]) -> Iterator[Block]:
    counts = Counter(each.ending.outcome for each in episodes)
    solved = sum(each.ending.outcome.solved for each in episodes)
    others = [f", {counts[each]:,} {in_words(each.value)}" for each in MEANINGS if counts[each] and not each.solved]
    begin = f"{be(len(episodes), 'task')} asked for, and every one of them is in the denominator: "
    yield blocks.paragraph(
        [begin, blocks.bold(f"{solved:,} solved"), f" by the environment's own verdict{''.join(others)}."]
    )
    if left_out := len(run.episodes) - len(episodes):
        said = (
            f"{be(left_out, 'building task')} left out on purpose, as their type had been solved often enough in a row"
        )
        yield blocks.paragraph(f"Beside them, {said}; they are not counted.")
    if run.run.unsafe_no_sandbox:
        said = "Its plans were allowed to run where the kernel cannot confine them (--unsafe-no-sandbox)."
        yield blocks.paragraph(said, "unsafe")
    if reasons := run.run.unjudgeable:
        said = f"{be(sum(reasons.values()), 'more task')} not played and not counted, as nothing here can judge them:"
        yield blocks.paragraph(said, "unjudgeable")
        yield blocks.bullets(f"{count:,}: {reason}" for reason, count in reasons.items())
    rows: list[Sequence[Line]] = [
        [[marked("span", in_words(each.value), f"outcome {each.value}")], f"{counts[each]:,}", meaning]
        for each, meaning in MEANINGS.items()
    ]
    total: Sequence[Line] = ["all", f"{len(episodes):,}", ""]
    yield blocks.table(["outcome", "episodes", "meaning"], [*rows, total], "meanings", total=True)


def _not_played(episodes: Sequence[Result], anchor: str) -> Iterator[Block]:
    broken = [each for each in episodes if each.ending.outcome is Outcome.BROKEN]
    not_run = [each for each in episodes if each.ending.outcome is Outcome.NOT_RUN]
    unjudged = [each for each in episodes if each.ending.cause == NOT_JUDGED]
    kinds = {"broken, by our fault": broken, "not run": not_run, "that the environment does not judge": unjudged}
    for said, found in kinds.items():
        if found:
            lines = [_message(each, anchor) for each in found[:MOST]]
            rest = [f"and {len(found) - MOST:,} more"] if len(found) > MOST else []
            line = f"{counted(len(found), 'task')} {said}, and counted as not solved"
            yield blocks.more(line, [blocks.bullets([*lines, *rest])], is_open=found is broken)
    if broken:
        solved = sum(each.ending.outcome.solved for each in episodes)
        share = blocks.share(solved, len(episodes) - len(broken))
        yield blocks.paragraph(f"The share of those that were not broken: {share}.", "note")


def _message(episode: Result, anchor: str) -> Line:
    """Link to an episode, with its message and the traceback that may follow that."""
    first, _, trace = episode.ending.message.partition("\n")
    line: list[Part] = [link(episode.name, f"{anchor}-{episode.index}"), f": {first or 'no message was left'}"]
    return [*line, marked("pre", trace)] if trace else line


def _claims(run: RunResults, episodes: Sequence[Result], anchor: str) -> Iterator[Block]:
    """Hold what was claimed of whole tasks against the environment's verdict."""
    found = run.summary().claims
    if found is None:
        said = (
            "Nothing was claimed of any whole task: its method claims nothing, or the environment ended every episode"
        )
        yield blocks.paragraph(f"{said} first.")
        return
    both = list(zip(episodes, found.rows, strict=True))
    types = sorted({each.type for each in episodes})
    audits = [(kind, all_claims([row for each, row in both if each.type == kind])) for kind in types]
    rows = [
        [name, *(f"{getattr(of, field):,}" for field in CLAIMS)]
        for name, of in [*(audits if len(types) > 1 else []), ("all", found)]
    ]
    yield blocks.table(["task type", *CLAIMS.values()], rows, "claims", total=True)
    for claim, said in FALSE.items():
        false = [each for each, row in both if row.is_false and row.claim == claim]
        if false:
            named = [(each.entry.task.id, f"{anchor}-{each.index}") for each in false]
            yield blocks.paragraph([f"{said}: ", *links(named, MOST)], "false-claims")
    said = "A claim is what was said of the whole task in the end; only the environment's verdict counts as solved."
    yield blocks.paragraph(said, "note")


def _made_of(run: RunResults) -> Iterator[Block]:
    """Say what the run was made of: from run.json, and from what was noted whenever it was resumed."""
    opened, made_of = run.run, run.run.made_of
    there = {name: version for name, version in opened.versions.items() if version != NOT_INSTALLED}
    begun = "Imported" if opened.imported else "Begun"
    said = f"{begun} by planbook {there.get('planbook', '')}, {there.get(CODE, 'its code not noted')}."
    said += f" It repeats the run {opened.rerun_of}." if opened.rerun_of else ""
    said += f" Its events are in {opened.store.place}." if isinstance(opened.store.place, Schema) else ""
    yield blocks.paragraph(said)
    yield from _imported(opened.imported) if opened.imported else ()
    for event in run.outside:
        body: Any = event.body
        if event.kind == "sitting" and body.get("changed"):
            changed = "; ".join(body["changed"])
            yield blocks.paragraph(f"Resumed on {moment(event.at)}, when this was not as before: {changed}.", "changed")
    missing = sorted(opened.versions.keys() - there.keys())
    digests = {title: getattr(made_of, part) for part, title in DIGESTS.items()} if made_of else {}
    inside = [
        *_titled("Versions", {name: each for name, each in there.items() if name not in ("planbook", CODE)}),
        *([blocks.paragraph(f"Not installed: {', '.join(missing)}.", "note")] if missing else []),
        *_titled("The environment, as it was played", run.versions),
        *_titled("Seeds", _seeds(run)),
        *(
            blocks.more(f"{title}: {counted(len(rows), 'checksum')} (SHA-256)", _titled("", rows))
            for title, rows in digests.items()
            if rows
        ),
    ]
    yield blocks.more("Versions, checksums and seeds", inside)


def _titled(title: str, rows: Mapping[str, Any]) -> list[Block]:
    found = [blocks.pairs(sorted(settings(rows)))]
    return ([blocks.heading(title), *found] if title else found) if rows else []


def _imported(imported: Imported) -> Iterator[Block]:
    yield blocks.paragraph(
        f"These episodes were not played here. They come from {counted(len(imported.files), 'file')}:"
    )
    yield blocks.bullets(
        f"{file.name}, {counted(file.episodes, 'episode')}, SHA-256 {file.sha256}" for file in imported.files
    )
    for origin in imported.origins:
        said = f"The run that {be(origin.episodes, 'episode')} exported from, as the file has it"
        yield blocks.more(said, _titled("", origin.facts))


def _seeds(run: RunResults) -> dict[str, str]:
    tasks = sorted({each.entry.task.seed for each in run.episodes.values() if each.entry.task.seed is not None})
    sent = run.run.made_of.seeds if run.run.made_of else {}
    found = {name: "none is sent" if seed is None else str(seed) for name, seed in sent.items()}
    return found | {
        "run": str(run.run.config.seed),
        "tasks": listed(map(str, tasks), MOST),
        "repeats of each task": str(run.run.config.repeats),
    }


def settings(value: Any) -> Iterator[tuple[str, str]]:
    """Give settings by dotted name, without those that were left empty."""
    return ((name, said) for name, said in by_dotted_name(value) if said)
