"""The episodes of a page: a line for each, and what is inside, which is packed until it is opened."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from jinja2 import Environment

from planbook.errors import BadArgument
from planbook.report.inside.places import Place, grown
from planbook.report.inside.scopes import told
from planbook.report.packing import Block, Texts, packed
from planbook.report.rendering import plain, templates
from planbook.results import Result, RunResults
from planbook.wording import counted

EPISODES = "report_episodes.html.j2"
PAGE_BYTES = 25_000_000
"""What a page may pack unless asked otherwise: more takes a browser seconds to open, and mail programs refuse it."""
WAYS = "--episodes takes all, failed, or a number"


@dataclass(frozen=True)
class Packed:
    """Which episodes of a run can be opened, what says so where it is not all, and whether there is more outside."""

    shown: Container[int] = frozenset()
    choice: str = ""
    outside: bool = False


class Packing:
    """Packs the episodes of all runs of a page; a text that several of them show is packed once."""

    def __init__(self) -> None:
        self.texts, self.blocks = Texts(), list[Block]()
        self._templates = templates(self.texts.keep)
        self._size = 0

    def pack(self, run: RunResults, anchor: str, which: str | None) -> Packed:
        """Pack the episodes asked for; unless any are, as many as the page may hold. Raises BadArgument."""
        wanted = chosen(run, which)
        outside = grown(told("", run.outside, f"{anchor}-outside"))
        if outside.items:
            self._add(f"{anchor}-outside", self._render("outside", outside))
        shown = set()
        for played in wanted:
            if which is None and self._size + self.texts.size > PAGE_BYTES:
                break
            own = f"{anchor}-{played.index}"
            self._add(own, self._render("inside", _place(run, played, own), played, own))
            shown.add(played.index)
        return Packed(shown, _told_of(run, which, wanted, len(shown)), bool(outside.items))

    def _add(self, name: str, html: str) -> None:
        self.blocks.append(Block(name, packed(html)))
        self._size += len(self.blocks[-1].data)

    def _render(self, macro: str, *arguments: object) -> str:
        return _render(self._templates, macro, *arguments)


def episode_html(run: RunResults, played: Result, anchor: str) -> str:
    """The inside of one episode. ``anchor`` begins its names: cells are ``ANCHOR-cell-N``, steps ``ANCHOR-step-N``."""
    return _render(plain(), "inside", _place(run, played, anchor), played, anchor)


def head_rows(run: RunResults, anchor: str, shown: Container[int], *, live: bool = False) -> str:
    """The lines of all episodes, of a run that goes on if ``live``.

    Those of ``shown`` (by index) can be opened, on an element that is empty as yet.
    """
    return _render(plain(), "rows", run, anchor, shown, live)


def _render(environment: Environment, macro: str, *arguments: object) -> str:
    return str(getattr(environment.get_template(EPISODES).module, macro)(*arguments))


def _place(run: RunResults, played: Result, anchor: str) -> Place:
    return grown(told(played.entry.path, run.events(played), anchor))


def chosen(run: RunResults, which: str | None) -> Sequence[Result]:
    """The episodes that can be opened, those first that are to stay where not all fit. Raises BadArgument."""
    begun = [played for played in run.episodes.values() if played.events]
    if which == "all":
        return begun
    if which is None:
        return sorted(begun, key=lambda played: played.ending.outcome.solved)
    if which == "failed":
        return [played for played in begun if not played.ending.outcome.solved]
    if not which.isdecimal():
        raise BadArgument(f"--episodes {which}: {WAYS}")
    return begun[: int(which)]


def _told_of(run: RunResults, which: str | None, wanted: Sequence[Result], shown: int) -> str:
    begun = sum(bool(played.events) for played in run.episodes.values())
    if which is None and shown < len(wanted):
        return (
            f"Of {counted(begun, 'episode')}, {shown:,} can be opened here, those that were not solved first: with all "
            f"of them the page would be above {PAGE_BYTES / 1e6:.0f} MB. `planbook report RUN --episodes all` takes "
            "them all the same."
        )
    if which == "failed":
        return "Only the episodes that were not solved can be opened (--episodes failed)."
    if shown < begun:
        return f"Only the first {counted(shown, 'episode')} can be opened (--episodes {which})."
    return ""
