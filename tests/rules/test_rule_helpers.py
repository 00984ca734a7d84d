"""Helpers taken out of rules and skills, defined for real in the sandbox."""

import pytest

from planbook.envs import Selection, Task
from planbook.envs.alfworld import Alfworld
from planbook.envs.toy import Toy
from planbook.planner import Episode, EpisodeSettings, FeedbackKind, MemoryJournal
from planbook.rules import Form, RuleBook, Skill
from planbook.rules.helpers import EXCEPTIONS, OF_METHODS, helper_code, helper_sources
from planbook.sandbox import CellResult, Sandbox, bound_names
from tests.rules.given import BOOK, HELPER

TASK = Toy.tasks(Selection(ids=("fetch/0",)))[0]
SEARCH = r'''
import re

BOXES: list[str] = [f"box_1", "box_2"]
NAMES = ("box_1", "box_2", "box_3")
SEEN = re.compile(r"you see (.*)\.", re.IGNORECASE)


class Place:
    things = ""

    def __init__(self, box, things):
        self.box, self.things = box, things

    def has(self, thing):
        return thing in self.things


class Lost(ValueError):
    """Found nowhere."""


# Open one box after the other.
def find(thing, *, boxes=NAMES, limit=3):
    for box in boxes[:limit]:
        place = look(box)
        if place.has(thing):
            return place.box
    raise Lost(thing)


def look(box):
    return Place(box, SEEN.findall(agent.open(box))[0])


find("key")
'''


def defined(sandbox: Sandbox, code: str, then: str = "x = 1") -> tuple[list[str], str]:
    """The actions that were taken, and what was printed, when the helpers are defined and a cell is run."""
    episode = Episode(TASK, Toy(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=20))
    episode.begin()
    with episode.frame("helped", helpers=code):
        assert not episode.steps
        feedback = episode.run(then)
    episode.close()
    assert feedback.kind is FeedbackKind.UNFINISHED, feedback.text
    return [str(step.action) for step in episode.steps], feedback.output


def test_a_helper_comes_with_its_imports_constants_classes_and_other_functions(sandbox: Sandbox) -> None:
    helpers = helper_code([("rule_1", SEARCH)], Toy)
    assert helpers.skipped == ()
    assert bound_names(helpers.code) == {"re", "NAMES", "SEEN", "Place", "Lost", "find", "look"}
    assert "# Open one box after the other." in helpers.code
    then = "try:\n    find('unicorn')\nexcept Lost as lost:\n    print('lost', lost)"
    actions, output = defined(sandbox, helpers.code, then)
    assert actions == ["open('box_1')", "open('box_2')", "open('box_3')"]
    assert output == "lost unicorn\n"


def test_no_sources_and_no_definitions_give_no_code(sandbox: Sandbox) -> None:
    assert helper_code([], Toy).code == ""
    assert helper_code([("rule_1", "agent.open('box_1')"), ("rule_2", "")], Toy) == helper_code([], Toy)


HOSTILE = {
    "it does not parse": ("def f(:\n    pass", "not Python in line 1"),
    "a name that nobody defines": (
        "def f():\n    return nowhere",
        "f is left out: unknown-name: nowhere is not defined",
    ),
    "a variable of the plan's state": ("boxes = agent.table()\ndef f():\n    return boxes", "boxes is not defined"),
    "it shadows the world": ("def agent():\n    pass", "agent belongs to the world"),
    "it shadows the task": ("def task():\n    pass", "task belongs to the world"),
    "a constant shadows the task": ("task = 1\ndef f():\n    return task", "task belongs to the world"),
    "an import shadows the world": (
        "import math as agent\ndef f():\n    return agent.pi",
        "agent belongs to the world",
    ),
    "a decorator acts": ("@agent.open\ndef f():\n    pass", "the decorator @agent.open of f is run"),
    "its own decorator acts": (
        "def cache(f):\n    agent.open('box_1')\n    return f\n@cache\ndef f():\n    pass",
        "the decorator @cache of f is run",
    ),
    "a default acts": ("def f(x=agent.open('box_1')):\n    pass", "a default of f is worked out by code"),
    "a keyword default acts": ("def f(*, x=agent.table()):\n    pass", "a default of f is worked out by code"),
    "a default is not there yet": ("def f(x=later):\n    pass\ndef later():\n    pass", "later is read before"),
    "a class body acts": ("class f:\n    agent.open('box_1')", "the class f does more than define"),
    "a class field acts": ("class f:\n    x = agent.table()", "the class f does more than define"),
    "a method's default acts": ("class f:\n    def g(self, x=agent.table()):\n        pass", "a default of g"),
    "a base that is none": ("def g():\n    pass\nclass f(g):\n    pass", "the class f is more than a plain class"),
    "a decorator of a class": ("@len\nclass f:\n    pass", "the class f is more than a plain class"),
    "a method acts as decorator": (
        "class f:\n    def property(g):\n        agent.open('box_1')\n    @property\n    def h(self):\n        pass",
        "the class f does more than define",
    ),
    "a field as decorator": (
        "class f:\n    property = 1\n    @property\n    def h(self):\n        pass",
        "the class f does more than define",
    ),
    "decorators that do not go together": (
        "class f:\n    @property\n    @staticmethod\n    def h():\n        pass",
        "the decorator @staticmethod of h is run",
    ),
    "two bases that do not go together": (
        "class f(ValueError, KeyError):\n    pass",
        "the class f is more than a plain",
    ),
    "a metaclass": ("class f(metaclass=len):\n    pass", "the class f is more than a plain class"),
    "two statements in one line": (
        "X = 1; agent.open('box_1')\ndef f():\n    return X",
        "a line that it needs holds several statements",
    ),
    "a constant that is worked out": ("X = len([1])\ndef f():\n    return X", "X is worked out by code"),
    "a constant that fails": ("X = int('x')\ndef f():\n    return X", "X is worked out by code"),
    "a pattern that fails": ("import re\nX = re.compile('(')\ndef f():\n    return X", "X is worked out by code"),
    "what is not re": ("import json as re\nX = re.compile('a')\ndef f():\n    return X", "X is worked out by code"),
    "a module that is not there": ("import os\ndef f():\n    return os.getcwd()", "there is no module `os`"),
    "an action that is not there": ("def f():\n    return agent.fly()", "agent has no action or attribute fly"),
    "arguments that do not fit": ("def f():\n    return agent.open()", "f is left out: arguments"),
    "what the language refuses": ("def f():\n    return f.__globals__", "f is left out: "),
    "it is nested beyond reason": (f"def f():\n    return {'(' * 300}1{')' * 300}", "rule_1: "),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_defined_without_fail_or_harm_is_left_out_and_told(sandbox: Sandbox, name: str) -> None:
    code, why = HOSTILE[name]
    sound = ("rule_2", "def sound():\n    return 'sound'")
    helpers = helper_code([("rule_1", code), sound], Toy)
    assert "f" not in bound_names(helpers.code)
    assert any(line.startswith("rule_1: ") and why in line for line in helpers.skipped), helpers.skipped
    assert defined(sandbox, helpers.code, "print(sound())") == ([], "sound\n")


def test_builtins_keep_their_meaning(sandbox: Sandbox) -> None:
    code = "def property(f):\n    agent.open('box_1')\n    return f\n@property\ndef f():\n    pass"
    helpers = helper_code([("rule_1", code)], Toy)
    assert helpers.skipped == (
        "rule_1: property is left out: property belongs to Python",
        "rule_1: f is left out: the decorator @property of f is run when it is defined",
    )
    assert defined(sandbox, helpers.code) == ([], "")
    assert bound_names(helper_code([("rule_1", "def open(box):\n    return agent.open(box)")], Toy).code) == {"open"}


def test_decorators_of_methods_are_defined_without_fail(sandbox: Sandbox) -> None:
    methods = "".join(f"    @{name}\n    def of_{name}(self):\n        pass\n" for name in sorted(OF_METHODS))
    helpers = helper_code([("rule_1", f"class f:\n{methods}")], Toy)
    assert "f" in bound_names(helpers.code), helpers.skipped
    assert defined(sandbox, helpers.code) == ([], "")


def test_classes_derive_from_every_exception_there_is(sandbox: Sandbox) -> None:
    own = "".join(f"class My{base}({base}):\n    'Ours.'\n" for base in sorted(EXCEPTIONS))
    helpers = helper_code([("rule_1", own)], Toy)
    assert {"MyValueError", "MyKeyError"} <= bound_names(helpers.code)
    assert defined(sandbox, helpers.code) == ([], "")


@pytest.mark.parametrize("code", ["\0", "def f():\n\treturn 1\n        return 2", "x" * 200_000, "(" * 5_000, "\ud800"])
def test_whatever_stands_in_an_example_nothing_is_raised(sandbox: Sandbox, code: str) -> None:
    helpers = helper_code([("rule_1", code), ("rule_2", f"def f():\n    pass\n{code}")], Toy)
    assert defined(sandbox, helpers.code) == ([], "")


def test_of_broken_code_what_stands_whole_is_kept(sandbox: Sandbox) -> None:
    helpers = helper_code([("rule_1", "def f(:\n    pass\n\ndef whole():\n    return 1\n")], Toy)
    assert bound_names(helpers.code) == {"whole"}
    assert defined(sandbox, helpers.code, "print(whole())")[1] == "1\n"


def test_an_example_may_be_indented_or_fenced() -> None:
    indented = "    def f():\n        return 1\n"
    assert bound_names(helper_code([("rule_1", indented)], Toy).code) == {"f"}
    assert bound_names(helper_code([("rule_1", "```python\ndef f():\n    return 1\n```")], Toy).code) == {"f"}


def test_of_two_of_one_name_the_first_given_is_taken_and_serves_both(sandbox: Sandbox) -> None:
    first = "def find(thing):\n    return 'first ' + thing"
    second = "def find(thing):\n    return 'second ' + thing\ndef fetch(thing):\n    return find(thing)"
    helpers = helper_code([("rule_1", first), ("skill fetch", second), ("rule_3", first)], Toy)
    assert helpers.skipped == ("skill fetch: find is left out: rule_1 defines it already",)
    assert defined(sandbox, helpers.code, "print(fetch('key'))")[1] == "first key\n"


def test_what_does_not_fit_the_first_given_is_left_out() -> None:
    first = "LIMIT = 3\ndef find(thing):\n    return LIMIT"
    calls = "def find(thing, box):\n    return box\ndef fetch():\n    return found('key', 'box_1')"
    other = "LIMIT = 4\ndef most():\n    return LIMIT"
    helpers = helper_code([("rule_1", first), ("rule_2", calls), ("rule_3", other)], Toy)
    assert bound_names(helpers.code) == {"LIMIT", "find"}
    assert helpers.skipped[1].startswith("rule_2: fetch is left out: unknown-name: found is not defined")
    assert helpers.skipped[2] == "rule_3: most is left out: LIMIT means something else in rule_1"


def test_the_environment_gives_its_own_helpers() -> None:
    own = """
def get_object_with_id(observation, object_name):
    return []

def find_object(agent, receptacles, name):
    for receptacle in receptacles:
        found = get_object_with_id(agent.go_to(receptacle), name)
        if found:
            return found, receptacle
    return None, None
"""
    helpers = helper_code([("rule_1", own)], Alfworld)
    assert bound_names(helpers.code) == {"find_object"}
    assert helpers.skipped == ("rule_1: get_object_with_id is left out: the world defines it already",)


def run(sandbox: Sandbox, code: str) -> CellResult:
    with sandbox.session({"agent.go_to": lambda receptacle: f"You see {receptacle}."}) as session:
        assert session.run(Alfworld.helpers).fault is None
        return session.run(code)


def test_helpers_stand_beside_those_of_an_environment(sandbox: Sandbox) -> None:
    code = helper_code(
        [("rule_1", "def seen(at):\n    return get_object_with_id(agent.go_to(at), 'mug')")], Alfworld
    ).code
    assert run(sandbox, f"{code}\nassert seen('mug_1') == ['mug_1']").fault is None


def test_helpers_come_from_helper_rules_first_and_then_from_skills() -> None:
    skill = Skill(task=TASK, scene="", code="agent.open('box_1')")
    assert helper_sources(BOOK, [skill]) == [("rule_1", HELPER.example), ("skill fetch", skill.code)]
    untyped = RuleBook.of(Form(types=False).fitted(BOOK.active))
    assert [origin for origin, _ in helper_sources(untyped)] == ["rule_1", "rule_2"]


def test_the_task_is_known_to_helpers(sandbox: Sandbox) -> None:
    code = helper_code([("rule_1", "def wanted():\n    return task.params['things']")], Toy).code
    things: Task = TASK
    assert defined(sandbox, code, "print(wanted())")[1] == f"{things.params['things']}\n"
