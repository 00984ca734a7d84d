"""Helpers for tests of the report: a run with prompts and hostile texts, and the page as a browser shows it."""

from collections.abc import Callable, Sequence
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from planbook.config import Config
from planbook.envs import Action, Observation, Selection, chromium
from planbook.envs.toy import Toy
from planbook.planner import (
    METHODS,
    Episode,
    EpisodeSettings,
    Message,
    OnText,
    Outcome,
    Reply,
    Roles,
    Sampling,
    Step,
    Usage,
    conclude,
    play,
    read_trajectory,
)
from planbook.planner.prompts import PROMPTS
from planbook.planner.scope import Scope
from planbook.planner.strategies.automanual import AutoManualOptions
from planbook.report import report_runs
from planbook.runs import EpisodeEntry, Run
from planbook.sandbox import Sandbox
from planbook.store import EpisodeJournal
from tests.browser import need_browser
from tests.rows import EpisodeWriter, new_run

HOSTILE = (
    "</script></pre></details><script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">"
)
HIDDEN = "\x1b[31m red \u202e turned \x00"
NO_CODE = f"I would rather talk. {HOSTILE} {HIDDEN}"
FAULTY = f"""### Understanding
Anything may be in a box. {HOSTILE}
### Rules
- rule_3: open one box after the other
### Plan
Open the first.
### Code
```python
seen = agent.open('box_1')
print({HOSTILE!r})
assert 'nothing at all' in seen, 'not there'
```"""
GOOD = """### Mistakes
I looked into one box only.
### Code
```python
for number in range(1, 9):
    for thing in task.params['things']:
        if thing in agent.open(f'box_{number}'):
            agent.take(thing, f'box_{number}')
            agent.put(thing)
```"""


class Scripted:
    """A model that answers the first request of an episode with a faulty plan, and later requests with a good one.

    Every third first answer contains no plan.
    """

    name = "scripted:report"

    def __init__(self) -> None:
        self.first_requests = 0

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        self.first_requests += len(messages) == 2
        text = GOOD if len(messages) > 2 else FAULTY if self.first_requests % 3 else NO_CODE
        usage = Usage(prompt=sum(len(message.content) for message in messages), completion=len(text), cached=7)
        return Reply(text=text, usage=usage, model="as-served", seconds=0.5)


def run_with_prompts(folder: Path, seeds: int = 3) -> Run:
    """Return a run on the toy environment in which all episodes but the last two have ended.

    The last one has not begun. The one before it was interrupted in its first cell (the first piece of code that it
    ran), after an action that does not count.
    """
    model = Scripted()
    roles = Roles(lambda role: model, {})
    config = Config(planner="automanual", env="toy", selection=Selection(seeds=tuple(range(seeds))), actions=9)
    run = Run.create(folder, config, Toy.tasks(config.selection))
    *ended, cut, _ = run.entries()
    with Sandbox() as sandbox:
        for entry in ended:
            _play(run, entry, sandbox, roles)
    run.store.put(f"{cut.path}/round/0", "task", 0, {"task": cut.task.model_dump(), "observation": {"text": "Boxes."}})
    where, seen = f"{cut.path}/round/0", Observation("Still boxes.")
    look = Step(scope=f"{where}/plan/0", cell=0, line=None, action=Action("look"), observation=seen, counted=False)
    run.store.put(where, "act", 0, look.model_dump(mode="json"))
    formulate = Scope(EpisodeJournal(run.store, "formulate/0"), "formulate/0", roles)
    formulate.ask("formulator", PROMPTS["repair"], read=str, problem="none")
    return run


def _play(run: Run, entry: EpisodeEntry, sandbox: Sandbox, roles: Roles) -> None:
    journal = EpisodeJournal(run.store, entry.path)
    settings = EpisodeSettings(actions=run.config.actions)
    episode = Episode(entry.task, Toy(), sandbox, journal, settings=settings, path=entry.path, roles=roles)
    play(episode, METHODS["automanual"].play, AutoManualOptions())
    trajectory = read_trajectory(entry.path, run.store.events(entry.path))
    conclude(Scope(journal, entry.path, roles).child("conclusion"), trajectory, Toy, Toy.Options())
    run.store.put(f"{entry.path}/builder/0", "learned", 0, {"edits": [{"content": f"Open every box. {HOSTILE}"}]})


def many_endings(folder: Path, outcomes: Sequence[Outcome], kind: str = "fetch") -> Run:
    """Return a run whose episodes have these outcomes, without playing them. NOT_RUN stands for no outcome."""
    run = new_run(folder, *[kind] * len(outcomes), planner="procedures")
    for entry, outcome in zip(run.entries(), outcomes, strict=True):
        EpisodeWriter(run, entry.path).end(None if outcome is Outcome.NOT_RUN else outcome)
    return run


def write_closed_run(folder: Path, make: Callable[..., Run], *arguments: Any, **options: Any) -> Path:
    """Make a run in the folder and close it. Return the folder."""
    with closing(make(folder, *arguments, **options)):
        return folder


def reported(*folders: Path, out: Path | None = None) -> "Page":
    """Write the report of runs and return its page."""
    _, result = report_runs(folders, out)
    return Page(Path(result.report))


VOID = {"meta", "link", "img", "br", "hr", "input"}
OPEN_EVERYTHING = """const done = arguments[0];
Promise.all([...document.querySelectorAll('.episode, .packed')].map(unpack)).then(() => {
  for (const each of document.querySelectorAll('details')) each.open = true;
  for (const each of document.querySelectorAll('script[type], noscript')) each.remove();
  done(document.documentElement.outerHTML);
});"""
"""Opens everything in the page, then returns its HTML without the packed data."""


def rendered_html(path: Path) -> str:
    """Open a page and everything in it in Chromium. Return its HTML."""
    need_browser()
    driver = chromium.shared_browser().driver
    driver.get("about:blank")
    driver.get(path.resolve().as_uri())
    return str(driver.execute_async_script(OPEN_EVERYTHING))


class Page(HTMLParser):
    """The elements of a page in which everything is open, with their attributes and all text inside them."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.source = rendered_html(path)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[int] = []
        self.feed(self.source)
        self.close()
        assert not self._open, f"never closed: {[self.elements[number][0] for number in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        started = self.elements[self._open.pop()][0]
        assert started == tag, f"<{started}> is closed by </{tag}> at line {self.getpos()[0]}"

    def handle_data(self, data: str) -> None:
        for number in self._open:
            self.elements[number][2].append(data)

    def all(self, tag: str, **attributes: str) -> list[str]:
        """Return the text of each element with this tag and with these words in its attributes."""
        return ["".join(text) for found, has, text in self.elements if found == tag and _fits(has, attributes)]

    def check(self) -> None:
        """Check that ids are unique and links lead to them, and that no text runs as a script or is invisible."""
        ids = self.values("id")
        assert len(ids) == len(set(ids))
        assert {link.removeprefix("#") for link in self.values("href")} <= set(ids)
        assert self.source.count("<script>") == 1
        assert HOSTILE not in self.source
        assert "<img" not in self.source
        assert "taken" not in self.all("title"), "a script inside a text has run"
        assert all(character.isprintable() or character in "\n\t" for character in self.source)

    def values(self, attribute: str) -> list[str]:
        """Return all values of an attribute."""
        return [str(has[attribute]) for _, has, _ in self.elements if attribute in has]


def _fits(has: dict[str, str | None], wanted: dict[str, str]) -> bool:
    return all(value in (has.get(name.rstrip("_")) or "").split() for name, value in wanted.items())
