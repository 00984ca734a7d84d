"""What the report is made of: scopes as a reader follows them, and the numbers beside its curves."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.envs import Task
from planbook.report.charts.curves import MOST_POINTS, thinned
from planbook.report.charts.shares import Share
from planbook.report.inside.items import Asked, Noted, Ran, Rewound
from planbook.report.inside.places import Place
from planbook.report.inside.scopes import told
from planbook.report.rendering import duration, moment, percent
from planbook.report.tables import settings
from planbook.store import Event
from planbook.wording import counted

TASK = Task(id="fetch/0", env="toy", split="all", type="fetch", goal="fetch").model_dump()
ROUND, PLAN, INNER = "task/3/round/0", "task/3/round/0/plan/0", "task/3/round/0/plan/0/achieve/1"


def act(scope: str, cell: int, name: str) -> Event:
    step: dict[str, Any] = {
        "scope": scope,
        "cell": cell,
        "line": 1,
        "action": {"name": name},
        "observation": {"text": "done"},
    }
    return Event(ROUND, "act", 0, {**step, "counted": True, "printed": ""}, 0.0)


def cell(scope: str, number: int) -> Event:
    feedback = {"kind": "unfinished", "text": "went on", "output": "last words"}
    body: Any = {"scope": scope, "number": number, "source": "planner", "code": "agent.look()", "feedback": feedback}
    return Event(ROUND, "cell", 0, body, 0.0)


def ask(scope: str, *contents: str, reply: str = "reply") -> Event:
    messages: Any = [{"role": "user", "content": content} for content in contents]
    return Event(scope, "ask", 0, {"messages": messages, "reply": {"text": reply}}, 0.0)


def only(kind: type[Any], place: Place) -> list[Any]:
    return [item for item in place.items if isinstance(item, kind)]


def test_scopes_stand_in_each_other_where_they_began() -> None:
    events = [act(PLAN, 0, "open"), act(INNER, 0, "take"), cell(INNER, 0), act(PLAN, 0, "put"), cell(PLAN, 0)]
    root = told("task/3", events, "a")
    (first,) = only(Place, root)
    (plan,) = only(Place, first)
    (inner,) = only(Place, plan)
    assert [place.below for place in (first, plan, inner)] == ["round/0", "plan/0", "achieve/1"]
    (outer_cell,), (inner_cell,) = only(Ran, plan), only(Ran, inner)
    assert [took.call for took in outer_cell.steps] == ["agent.open()", "agent.put()"]
    assert [took.call for took in inner_cell.steps] == ["agent.take()"]
    assert outer_cell.printed_last == "last words"


def test_a_cell_without_an_end_keeps_its_steps() -> None:
    (ran,) = only(Ran, only(Place, only(Place, told("task/3", [act(PLAN, 2, "open")], "a"))[0])[0])
    assert (ran.number, ran.cell, len(ran.steps)) == (2, None, 1)
    assert ran.faulty_lines == set()
    assert ran.printed_last == ""


def test_a_cell_that_was_cut_off_has_the_plan_of_the_reply_before_it() -> None:
    replied = ask(PLAN, "go", reply="Look.\n```python\nagent.look()\nagent.open()\n```")
    talked = ask(PLAN, "go", reply="I would rather talk.")
    for before, code in ((replied, "agent.look()\nagent.open()"), (talked, "")):
        (plan,) = only(Place, only(Place, told("task/3", [before, act(PLAN, 0, "look")], "a"))[0])
        (ran,) = only(Ran, plan)
        assert (ran.code.strip(), ran.last_line) == (code, 1)
    (plan,) = only(Place, only(Place, told("task/3", [replied, act(PLAN, 0, "look"), cell(PLAN, 0)], "a"))[0])
    assert [(ran.code, ran.last_line) for ran in only(Ran, plan)] == [("agent.look()", None)]


def test_steps_are_numbered_through_the_episode_and_counted_by_their_lines() -> None:
    events = [act(PLAN, 0, "a"), act(PLAN, 0, "b"), cell(PLAN, 0), act(PLAN, 1, "c"), cell(PLAN, 1)]
    (plan,) = only(Place, only(Place, told("task/3", events, "run-0-3"))[0])
    cells = only(Ran, plan)
    assert [took.anchor for ran in cells for took in ran.steps] == [f"run-0-3-step-{number}" for number in (1, 2, 3)]
    assert [ran.steps_by_line for ran in cells] == [{1: 2}, {1: 1}]


def test_a_rewind_marks_the_steps_after_its_mark() -> None:
    rewind = Event(ROUND, "rewind", 0, {"path": PLAN, "steps": 1}, 0.0)
    events = [act(PLAN, 0, "a"), act(PLAN, 0, "b"), cell(PLAN, 0), rewind, act(PLAN, 1, "c"), cell(PLAN, 1)]
    (plan,) = only(Place, only(Place, told("task/3", events, "a"))[0])
    assert [(took.call, took.undone) for ran in only(Ran, plan) for took in ran.steps] == [
        ("agent.a()", False),
        ("agent.b()", True),
        ("agent.c()", False),
    ]
    assert [item.steps for item in only(Rewound, plan)] == [1]


def test_only_what_stood_in_the_scopes_last_prompt_or_was_its_reply_is_as_before() -> None:
    elsewhere = "task/3/builder/0"
    events = [
        ask(PLAN, "system", "first"),
        ask(elsewhere, "system"),
        ask(PLAN, "system", "first", "second"),
        ask(PLAN, "second", "first"),
        ask(PLAN, "system"),
    ]
    root = told("task/3", events, "a")
    (plan,) = only(Place, only(Place, root)[0])
    before = [[said.before for said in asked.messages] for asked in only(Asked, plan)]
    first = only(Asked, plan)[0]
    anchors = [said.anchor for said in first.messages]
    assert before == [["", ""], [*anchors, ""], ["a-ask-2-2", anchors[1]], [""]]
    assert [said.before for said in only(Asked, only(Place, root)[1])[0].messages] == [""]


def test_a_reply_that_is_carried_on_is_as_before() -> None:
    again = ask(PLAN, "question")
    messages: Any = [{"role": "user", "content": "question"}, {"role": "assistant", "content": "reply"}]
    second = Event(PLAN, "ask", 1, {"messages": messages, "reply": {"text": "other"}}, 0.0)
    (plan,) = only(Place, only(Place, told("task/3", [again, second], "a"))[0])
    assert [said.before for said in only(Asked, plan)[1].messages] == ["a-ask-0-0", "a-ask-0-reply"]


def test_what_has_no_words_is_shown_as_it_is() -> None:
    began = Event(ROUND, "task", 0, {"task": TASK, "observation": {"text": "A box."}}, 0.0)
    recall = Event("task/3", "recall", 0, {"text": "rule_1\nrule_2", "helpers": "", "rule_ids": ["rule_1"]}, 0.0)
    rules = Event("task/3/builder/0", "rules", 0, {"odd": [1, None]}, 0.0)
    root = told("task/3", [began, recall, rules], "a")
    recalled = root.items[0]
    assert isinstance(recalled, Noted)
    assert recalled.parts == {"text": "rule_1\nrule_2", "rule_ids": '[\n  "rule_1"\n]'}
    (noted,) = only(Noted, only(Place, root)[1])
    assert noted.parts[""].split() == '{ "odd": [ 1, null ] }'.split()


@pytest.mark.parametrize("path", ["run", "formulate/0", "a/b/c/d/e", "task/3x/0"])
def test_any_scope_finds_its_place(path: str) -> None:
    def paths(place: Place) -> list[str]:
        return [place.path, *(path for inner in only(Place, place) for path in paths(inner))]

    assert path in paths(told("", [Event(path, "versions", 0, {}, 0.0)], "a"))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=3 * MOST_POINTS))
def test_a_long_line_is_thinned_but_keeps_its_ends(values: list[float]) -> None:
    points = list(enumerate(values, 1))
    thin = thinned(points)
    assert (thin[0], thin[-1]) == (points[0], points[-1])
    assert len(thin) <= MOST_POINTS + 1
    assert thin == sorted(set(thin))


def test_numbers_are_written_for_people() -> None:
    assert (percent(0.5), percent(None)) == ("50.0%", "–")
    assert (Share(1, 2).told, Share(1, 2).within, Share(0, 0).told) == ("50.0%", "9.5 to 90.5%", "–")
    assert (counted(1, "action"), counted(1200, "token")) == ("1 action", "1,200 tokens")
    assert [duration(seconds) for seconds in (1.26, 125, 7384)] == ["1.3 s", "2 min 5 s", "2 h 3 min"]
    assert (moment(0.0), moment(None)) == ("1970-01-01 00:00:00 UTC", "–")


def test_settings_are_told_without_what_was_left_empty() -> None:
    asked = {"env": "toy", "library": "", "selection": {"seeds": [1, 2], "types": [], "limit": None}, "paper": False}
    assert dict(settings(asked)) == {"env": "toy", "selection.seeds": "1, 2", "paper": "False"}
