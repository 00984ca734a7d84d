"""The MiniWoB++ environment: the 53 task types on which the papers report results, the actions and the verdicts."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from runpy import run_path
from typing import ClassVar

from pydantic import BaseModel, Field, JsonValue

from planbook.envs import chromium, devtools
from planbook.envs.base import Environment, action, query
from planbook.envs.errors import EnvironmentBroken, EpisodeEnded, closing_if_broken
from planbook.envs.miniwob.tab import DATA_MODE, MiniwobTab, PageState
from planbook.envs.requirements import RequiredPackage, folder_digest, package_version
from planbook.envs.selection import chosen_split, chosen_types, interleave, read_seeded_id
from planbook.envs.types import EnvironmentOptions, Observation, Requirement, Selection, Task, Verdict

FEEDBACK_TYPES = tuple(
    "search-engine tic-tac-toe terminal login-user-popup guess-number email-inbox email-inbox-nl-turk "
    "email-inbox-forward-nl email-inbox-forward-nl-turk".split()
)
"""The task types whose pages react to actions with information that later actions need."""
FREELY_WORDED_TYPES = ("email-inbox-nl-turk", "email-inbox-forward-nl", "email-inbox-forward-nl-turk")
"""The task types whose goals are freely worded sentences. Their pages publish the values in the goal separately."""
NO_FEEDBACK_TYPES = tuple(
    "choose-list click-button click-button-sequence click-checkboxes click-checkboxes-large click-checkboxes-soft "
    "click-checkboxes-transfer click-collapsible click-collapsible-2 click-color click-dialog click-dialog-2 "
    "click-link click-menu click-option click-scroll-list click-shades click-shape click-tab click-tab-2 "
    "click-tab-2-hard click-test click-test-2 click-widget count-shape enter-date enter-password enter-text "
    "enter-text-dynamic enter-time focus-text focus-text-2 grid-coordinate identify-shape login-user multi-layouts "
    "multi-orderings navigate-tree simple-algebra social-media social-media-all social-media-some use-autocomplete "
    "use-spinner".split()
)
RELOADED_TYPES = ("search-engine", "use-autocomplete", "use-spinner")
"""The task types whose pages keep traces of earlier episodes. Their pages are loaded again for each episode."""
SPLITS: Mapping[str, tuple[str, ...]] = {
    "all": FEEDBACK_TYPES + NO_FEEDBACK_TYPES,
    "feedback": FEEDBACK_TYPES,
    "no-feedback": NO_FEEDBACK_TYPES,
}
PACKAGE = RequiredPackage("miniwob", "browser", prefixes=("miniwob",))
"""The package that contains the pages."""
DEFAULT_SEEDS = (0, 1, 2, 3, 4)
MAX_CHANGE = 300
"""Maximum number of characters in the description of how an action changed the page."""


class MiniwobOptions(EnvironmentOptions):
    """Options of MiniWoB++."""

    paper_actions: bool = Field(
        default=False, description="Offer only the five actions of the papers, without find (same as --paper-actions)."
    )


class Miniwob(Environment):
    """An environment whose tasks are pages. A task is named by its type and seed, as in ``click-button/17``.

    A task gets its goal and its params only when it begins.
    """

    name = "miniwob"
    about = (
        "Small web pages in a browser. Each has one task, which the agent does with mouse and keyboard. The first "
        "observation is the page's HTML; its element with the id query states the task. Every action returns the new "
        "HTML, in which the value of a field is its current content. An action that cannot be carried out changes "
        "nothing and returns 'Nothing happens: ', the reason, and then the HTML. A plan may stop wherever the page "
        "has to be read before the next step; the next plan continues on the same page. The episode ends, done or "
        "failed, as soon as the page judges it, for example when a form is submitted."
    )
    types = SPLITS["all"]
    splits = tuple(SPLITS)
    combined_splits = {"all": ("feedback", "no-feedback")}
    seeded = True
    action_limit = 20
    pauses = True
    paper_actions = ("click_xpath", "click_option", "type", "press_key", "move_mouse_on")
    Options: ClassVar[type[BaseModel]] = MiniwobOptions

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._tab: MiniwobTab | None = None
        self._page: PageState | None = None

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the selected tasks, taken from each type in turn. If no seeds are selected, the seeds are 0 to 4."""
        if selection.ids:
            return [cls._task(*read_seeded_id(task_id, cls.types, cls.name)) for task_id in selection.ids]
        split = chosen_split(selection, cls.splits, cls.name)
        types = chosen_types(selection, SPLITS[split], f"{cls.name}'s split {split}")
        seeds = selection.seeds or DEFAULT_SEEDS
        return list(interleave(([cls._task(name, seed) for seed in seeds] for name in types), selection.limit))

    @classmethod
    def public_params(cls, task: Task) -> Mapping[str, JsonValue]:
        """Return the params, or {} for a freely worded goal, which the agent itself must understand."""
        return {} if task.type in FREELY_WORDED_TYPES else task.params

    @classmethod
    def requirements(cls) -> Sequence[Requirement]:
        """Return the requirements: the pages, the browser packages, Chromium and its driver."""
        return [PACKAGE.requirement("miniwob"), *chromium.requirements()]

    @classmethod
    def _task(cls, type_name: str, seed: int) -> Task:
        split = "feedback" if type_name in FEEDBACK_TYPES else "no-feedback"
        return Task(id=f"{type_name}/{seed}", env=cls.name, split=split, type=type_name, goal="", seed=seed)

    def begin(self, task: Task) -> Observation:
        """Start an episode of the page with the task's seed. If the tab has died, open a new one."""
        had_tab = self._tab is not None
        try:
            page = self._begin(task)
        except EnvironmentBroken:
            if not had_tab:
                raise
            page = self._begin(task)
        params = read_params(task.type, page.goal, page.fields)
        self.task = task.model_copy(update={"goal": page.goal, "params": params})
        return self._observe(page)

    def scene(self) -> str:
        """Return the HTML of the page after the last action."""
        return self._page.html if self._page else ""

    def verdict(self) -> Verdict:
        """Return the page's verdict: solved if its raw reward is 1. The score is the raw reward, clipped to 0..1.

        While the episode is not over, the score is 0.
        """
        page = self._page
        if page is None or not page.done:
            return Verdict(solved=False, score=0.0)
        return Verdict(solved=page.reward == 1, score=min(1.0, max(0.0, page.reward)))

    def brief(self, observation: Observation, before: Observation) -> str:
        """Return the reason if the action was refused, or else the tags that are new in the page."""
        if not observation.accepted:
            return observation.text.split("\n", 1)[0]
        tags = _new_tags(before.text, observation.text)
        if not tags or observation.terminated:
            return "done"
        return f"done; new in the page: {tags[:MAX_CHANGE]}{' ...' if len(tags) > MAX_CHANGE else ''}"

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the digest of the pages and of all files that they load."""
        return {"pages": folder_digest(PACKAGE.folder() / "html")}

    def versions(self) -> Mapping[str, str]:
        """Return the versions of Chromium, Selenium and MiniWoB++, and the data mode (see ``tab.DATA_MODE``)."""
        return chromium.versions() | {"miniwob": package_version("miniwob"), "data_mode": DATA_MODE}

    def close(self) -> None:
        """Close the tab. The browser stays open for other episodes until the process ends."""
        if self._tab is not None:
            self._tab.close()
            self._tab = None

    @action("agent.click_xpath(\"//button[text()='Ok']\") -> the page's HTML")
    def click_xpath(self, xpath: str) -> Observation:
        """Click on the first element that the XPath matches. It must be visible, not covered, and not disabled."""
        return self._do(lambda tab: tab.click(xpath))

    @action("agent.click_option(\"//option[text()='Red']\") -> the page's HTML")
    def click_option(self, xpath: str) -> Observation:
        """Select an option of a ``<select>`` list. If the list allows several, a selected option is deselected."""
        return self._do(lambda tab: tab.click_option(xpath))

    @action("agent.type('some text') -> the page's HTML")
    def type(self, text: str) -> Observation:
        """Type text, key by key, into the field that has the focus: click it first. Only selected text is replaced."""
        return self._do(lambda tab: tab.type(text))

    @action("agent.press_key('enter') -> the page's HTML")
    def press_key(self, key: str) -> Observation:
        """Press a key: a single character, or a named key such as enter, tab, escape, page_down or arrow_left.

        The names are enter, space, tab, backspace, delete, escape, home, end, page_up, page_down, arrow_up,
        arrow_down, arrow_left and arrow_right."""
        commands = devtools.CHARACTER_KEYS.get(key) or devtools.KEYS.get(key)
        if commands is None:
            return self._refuse(
                f"there is no key named {key!r}; there are {', '.join(devtools.KEYS)}, and single characters"
            )
        return self._do(lambda tab: tab.send(commands))

    @action("agent.move_mouse_on('//li[2]') -> the page's HTML")
    def move_mouse_on(self, xpath: str) -> Observation:
        """Move the mouse onto the first element that the XPath matches, without clicking."""
        return self._do(lambda tab: tab.hover(xpath))

    @action("agent.click_at(\"//*[@id='area']\", 20, 35) -> the page's HTML")
    def click_at(self, xpath: str, x: float, y: float) -> Observation:
        """Click at a point of an element: x pixels right of its upper left corner and y pixels below it.

        Nothing else may cover the element at that point.
        """
        return self._do(lambda tab: tab.click_at(xpath, x, y))

    @action("agent.drag('//li[1]', '//li[3]') -> the page's HTML")
    def drag(self, from_xpath: str, to_xpath: str) -> Observation:
        """Press the mouse button on one element, drag to another, and release the button there."""
        return self._do(lambda tab: tab.drag(from_xpath, to_xpath))

    @action("agent.select_text('//p[2]') -> the page's HTML")
    def select_text(self, xpath: str) -> Observation:
        """Select all text of an element. In a field, the text that is typed next replaces it."""
        return self._do(lambda tab: tab.select_text(xpath))

    @action("agent.scroll(\"//*[@id='area']\", 100) -> the page's HTML")
    def scroll(self, xpath: str, dy: float) -> Observation:
        """Scroll an element, or the nearest scrollable one around it, down by dy pixels (up if negative)."""
        return self._do(lambda tab: tab.scroll(xpath, dy))

    @query("agent.find('//button') -> [{'text': 'Ok', 'tag': 'button', 'attributes': {'id': 'b'}, 'box': {...}, ...}]")
    def find(self, xpath: str) -> JsonValue:
        """Return what the XPath matches, in document order. An invalid XPath matches nothing.

        Each match is a dict with ``text`` (all text inside, or the value of a matched attribute), ``tag``,
        ``attributes`` (with the current value, checked, selected and disabled), ``box`` (x, y, width, height in
        pixels), ``visible``, and ``xpath``, which matches exactly this element.
        """
        if self.task is None or self._tab is None:
            raise EpisodeEnded("miniwob: no episode has begun; call reset(task) first")
        with closing_if_broken(self.close):
            return self._tab.find(xpath)

    def _begin(self, task: Task) -> PageState:
        with closing_if_broken(self.close):
            if self._tab is None:
                self._tab = MiniwobTab(chromium.shared_browser())
            return self._tab.begin(page_address(task.type), task.seed, reload=task.type in RELOADED_TYPES)

    def _do(self, tab_action: Callable[[MiniwobTab], PageState]) -> Observation:
        if self._tab is None:
            raise EnvironmentBroken("the page of this episode is gone; only a reset opens a new one")
        with closing_if_broken(self.close):
            return self._observe(tab_action(self._tab))

    def _refuse(self, reason: str) -> Observation:
        return Observation(f"Nothing happens: {reason}.\n{self.scene()}", accepted=False)

    def _observe(self, page: PageState) -> Observation:
        self._page = page
        if page.refused:
            return self._refuse(page.refused)
        return Observation(page.html, terminated=page.done)


def page_address(type_name: str) -> str:
    """Return the address of the page for a task type."""
    return (PACKAGE.folder() / "html" / "miniwob" / f"{type_name}.html").as_uri()


@cache
def _extractors() -> Mapping[str, Callable[[str], Sequence[tuple[str, str]]]]:
    """Return miniwob's field extractors, which map each task type to the function that parses its goals.

    Each function returns the names and values of the fields in a goal. Instead of importing the package miniwob, this
    runs only the module that defines the functions, which needs nothing but the standard library.
    """
    return run_path(str(PACKAGE.folder() / "fields.py"))["FIELD_EXTRACTORS"]  # type: ignore[no-any-return]


def read_params(type_name: str, goal: str, fields: Mapping[str, str] | None) -> dict[str, JsonValue]:
    """Return the params of a goal: the values in it, such as the name of the button to click.

    These are the ``fields`` that the page publishes, if any, or else the values that miniwob's extractor finds in the
    goal. The keys are miniwob's names (``target``, ``username``, ``by``, ``to`` ...), with ``_`` in place of spaces.
    Values with numbered keys form one list: ``target 0`` and ``target 1`` become ``targets``. A goal that the
    extractor cannot parse has no params.
    """
    try:
        pairs = tuple(fields.items()) if fields else _extractors()[type_name](goal)
    except (KeyError, ValueError):
        return {}
    single: dict[str, JsonValue] = {}
    lists: dict[str, list[JsonValue]] = {}
    for key, value in pairs:
        if match := re.fullmatch(r"(.+) \d+", key):
            lists.setdefault(f"{match[1].replace(' ', '_')}s", []).append(value)
        else:
            single[key.replace(" ", "_")] = value
    return single | dict(lists)


def _new_tags(before: str, after: str) -> str:
    """Return the opening tags that occur more often in ``after`` than in ``before``, each with the text after it."""
    unmatched = Counter(_tags(before))
    new_tags = []
    for tag in _tags(after):
        unmatched[tag] -= 1
        if unmatched[tag] < 0:
            new_tags.append(tag)
    return " ".join(new_tags)


def _tags(html: str) -> list[str]:
    return [tag.strip() for tag in re.split("(?=<)", html) if tag.strip() and not tag.startswith("</")]
