"""Helper functions are taken from rules and skills, and defined in the real sandbox."""

import pytest

from planbook.envs.alfworld import Alfworld
from planbook.envs.toy import Toy
from planbook.planner import FeedbackKind
from planbook.rules import RuleBook, RuleForm, Skill
from planbook.rules.helper_methods import EXCEPTIONS, METHOD_DECORATORS, helper_code, helper_sources
from planbook.sandbox import Sandbox, bound_names
from tests.planner.episode_kit import TASK, started
from tests.rules.example_book import BOOK, HELPER, SUCCESS

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


def run_with_helpers(sandbox: Sandbox, code: str, then: str = "x = 1") -> tuple[list[str], str]:
    """Define the helpers and run a piece of code. Return the actions that the code took, and its output."""
    with started(sandbox) as episode, episode.frame("helped", helpers=code):
        assert not episode.steps
        feedback = episode.run(then)
    assert feedback.kind is FeedbackKind.UNFINISHED, feedback.text
    return [str(step.action) for step in episode.steps], feedback.output


def test_a_helper_is_copied_with_everything_that_it_needs(sandbox: Sandbox) -> None:
    helpers = helper_code([SEARCH], Toy)
    assert bound_names(helpers) == {"re", "NAMES", "SEEN", "Place", "Lost", "find", "look"}
    assert "# Open one box after the other." in helpers
    then = "try:\n    find('unicorn')\nexcept Lost as lost:\n    print('lost', lost)"
    actions, output = run_with_helpers(sandbox, helpers, then)
    assert actions == ["open('box_1')", "open('box_2')", "open('box_3')"]
    assert output == "lost unicorn\n"


def test_sources_without_definitions_give_no_code() -> None:
    assert helper_code([], Toy) == helper_code(["agent.open('box_1')", ""], Toy) == ""


HOSTILE = {
    "it does not parse": "def f(:\n    pass",
    "a name that nobody defines": "def f():\n    return nowhere",
    "a variable of the plan's state": "boxes = agent.table()\ndef f():\n    return boxes",
    "it shadows the world": "def agent():\n    pass",
    "it shadows the task": "def task():\n    pass",
    "a constant shadows the task": "task = 1\ndef f():\n    return task",
    "an import shadows the world": "import math as agent\ndef f():\n    return agent.pi",
    "a decorator acts": "@agent.open\ndef f():\n    pass",
    "its own decorator acts": "def cache(f):\n    agent.open('box_1')\n    return f\n@cache\ndef f():\n    pass",
    "a default acts": "def f(x=agent.open('box_1')):\n    pass",
    "a keyword default acts": "def f(*, x=agent.table()):\n    pass",
    "a default is not there yet": "def f(x=later):\n    pass\ndef later():\n    pass",
    "a class body acts": "class f:\n    agent.open('box_1')",
    "a class field acts": "class f:\n    x = agent.table()",
    "a method's default acts": "class f:\n    def g(self, x=agent.table()):\n        pass",
    "a base that is none": "def g():\n    pass\nclass f(g):\n    pass",
    "a decorator of a class": "@len\nclass f:\n    pass",
    "a method acts as decorator": (
        "class f:\n    def property(g):\n        agent.open('box_1')\n    @property\n    def h(self):\n        pass"
    ),
    "a field as decorator": "class f:\n    property = 1\n    @property\n    def h(self):\n        pass",
    "decorators that do not go together": "class f:\n    @property\n    @staticmethod\n    def h():\n        pass",
    "two bases that do not go together": "class f(ValueError, KeyError):\n    pass",
    "a metaclass": "class f(metaclass=len):\n    pass",
    "a constant that is worked out": "X = len([1])\ndef f():\n    return X",
    "a constant that fails": "X = int('x')\ndef f():\n    return X",
    "a pattern that fails": "import re\nX = re.compile('(')\ndef f():\n    return X",
    "what is not re": "import json as re\nX = re.compile('a')\ndef f():\n    return X",
    "a module that is not there": "import os\ndef f():\n    return os.getcwd()",
    "an action that is not there": "def f():\n    return agent.fly()",
    "arguments that do not fit": "def f():\n    return agent.open()",
    "what the language refuses": "def f():\n    return f.__globals__",
    "it is nested beyond reason": f"def f():\n    return {'(' * 300}1{')' * 300}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_helpers_that_fail_or_act_when_defined_are_left_out(sandbox: Sandbox, name: str) -> None:
    helpers = helper_code([HOSTILE[name], "def sound():\n    return 'sound'"], Toy)
    assert "f" not in bound_names(helpers)
    assert run_with_helpers(sandbox, helpers, "print(sound())") == ([], "sound\n")


def test_a_helper_does_not_redefine_a_builtin() -> None:
    code = "def property(f):\n    agent.open('box_1')\n    return f\n@property\ndef f():\n    pass"
    assert helper_code([code], Toy) == ""
    assert bound_names(helper_code(["def open(box):\n    return agent.open(box)"], Toy)) == {"open"}


METHODS = "".join(f"    @{name}\n    def of_{name}(self):\n        pass\n" for name in sorted(METHOD_DECORATORS))
OWN_EXCEPTIONS = "".join(f"class My{base}({base}):\n    'Ours.'\n" for base in sorted(EXCEPTIONS))


@pytest.mark.parametrize(
    ("code", "names"), [(f"class f:\n{METHODS}", {"f"}), (OWN_EXCEPTIONS, {"MyValueError", "MyKeyError"})]
)
def test_methods_may_have_decorators_and_a_class_may_derive_from_any_exception(
    sandbox: Sandbox, code: str, names: set[str]
) -> None:
    helpers = helper_code([code], Toy)
    assert names <= bound_names(helpers)
    assert run_with_helpers(sandbox, helpers) == ([], "")


@pytest.mark.parametrize("code", ["\0", "def f():\n\treturn 1\n        return 2", "x" * 200_000, "(" * 5_000, "\ud800"])
def test_unreadable_code_is_ignored(sandbox: Sandbox, code: str) -> None:
    helpers = helper_code([code, f"def f():\n    pass\n{code}"], Toy)
    assert run_with_helpers(sandbox, helpers) == ([], "")


def test_complete_definitions_of_broken_code_are_kept(sandbox: Sandbox) -> None:
    helpers = helper_code(["def f(:\n    pass\n\ndef whole():\n    return 1\n"], Toy)
    assert bound_names(helpers) == {"whole"}
    assert run_with_helpers(sandbox, helpers, "print(whole())")[1] == "1\n"


@pytest.mark.parametrize("code", ["    def f():\n        return 1\n", "```python\ndef f():\n    return 1\n```"])
def test_an_example_may_be_indented_or_fenced(code: str) -> None:
    assert bound_names(helper_code([code], Toy)) == {"f"}


def test_a_helper_that_needs_another_function_of_the_same_name_is_left_out(sandbox: Sandbox) -> None:
    first = "def find(thing):\n    return 'first ' + thing"
    second = "def find(thing):\n    return 'second ' + thing\ndef fetch(thing):\n    return find(thing)"
    same = f"{first}\ndef bring(thing):\n    return find(thing)"
    helpers = helper_code([first, second, same], Toy)
    assert bound_names(helpers) == {"find", "bring"}
    assert run_with_helpers(sandbox, helpers, "print(bring('key'))")[1] == "first key\n"


def test_definitions_that_do_not_fit_earlier_ones_are_left_out() -> None:
    first = "LIMIT = 3\ndef find(thing):\n    return LIMIT"
    calls = "def find(thing, box):\n    return box\ndef fetch():\n    return found('key', 'box_1')"
    other = "LIMIT = 4\ndef most():\n    return LIMIT"
    helpers = helper_code([first, calls, other], Toy)
    assert bound_names(helpers) == {"LIMIT", "find"}


def test_helpers_of_the_environment_are_not_replaced(sandbox: Sandbox) -> None:
    own = """
def get_object_with_id(observation, object_name):
    return []

def find_object(agent, receptacles, name):
    for receptacle in receptacles:
        if found := get_object_with_id(agent.go_to(receptacle), name):
            return found, receptacle
"""
    helpers = helper_code([own], Alfworld)
    assert bound_names(helpers) == {"find_object"}
    with sandbox.session({"agent.go_to": lambda receptacle: f"You see {receptacle}."}) as session:
        assert session.run(Alfworld.helpers).fault is None
        assert (
            session.run(f"{helpers}\nassert find_object(agent, ['mug_1'], 'mug') == (['mug_1'], 'mug_1')").fault is None
        )


def test_helpers_of_rules_come_before_those_of_skills() -> None:
    skill = Skill(task=TASK, scene="", code="agent.open('box_1')")
    assert helper_sources(BOOK, [skill]) == [HELPER.example, skill.code]
    untyped = RuleBook.from_rules(RuleForm(types=False).apply_to(BOOK.active))
    assert helper_sources(untyped) == [HELPER.example, SUCCESS.example]


def test_helpers_may_read_the_task(sandbox: Sandbox) -> None:
    code = helper_code(["def wanted():\n    return task.params['things']"], Toy)
    assert run_with_helpers(sandbox, code, "print(wanted())")[1] == f"{TASK.params['things']}\n"
