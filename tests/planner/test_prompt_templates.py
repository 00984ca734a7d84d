"""Every prompt template renders, uses all variables, and leaves code unchanged. A digest is that of the data."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError
from pydantic import BaseModel

from planbook.envs import Action, Observation
from planbook.envs.toy import Toy
from planbook.manuals import PROMPTS as MANUALS
from planbook.planner import PROMPTS, Conclusion, MatchCandidate, Message, Prompt, Prompts, Recall, Round, action_docs
from planbook.planner.strategies.advocate.model_calls import FailedRound
from planbook.planner.strategies.deps.goals import Goal
from planbook.planner.strategies.deps.pursuit import GoalResult, PursuitResult
from planbook.planner.types import Feedback, FeedbackKind, RenderedText, Step, digest_of
from planbook.rules import PROMPTS as RULES, Reflection, Rule, RuleForm, RuleType, Skill
from tests.planner.episode_kit import TASK, trajectory

ALL = {
    f"{package}/{name}": prompts[name.removesuffix(".j2")]
    for package, prompts in (("planner", PROMPTS), ("rules", RULES), ("manuals", MANUALS))
    for name in prompts.files()
}
CODE = """x = '''<b>&amp;</b> "quotes" {{ x }} {% if x %} \\n \\\\''' # no `entity` & no 'escape'"""
OTHER = TASK.model_copy(update={"type": "fetch_two", "goal": "another goal"})
SKILL = Skill(task=TASK, scene="a scene", code=CODE)
REFLECTION = Reflection(task=TASK, scene="a scene", text="Too early.")
RULE = Rule(id="rule_4", type=RuleType.SUCCESS_PROCESS, content="Look first.", example=CODE, log=("seen",))


SURFACE = action_docs(Toy)
EPISODE = trajectory(CODE)
CELL = EPISODE.rounds[0].cells[0]
EMPTY_SURFACE = SURFACE.model_copy(update={"actions": (), "queries": (), "attributes": (), "helpers": ""})
FORMS = (RuleForm(), RuleForm(types=False, examples=False, logs=False, helper_methods=False))
TYPES = ["Success Process", "Corrected Error"]
OTHERS = [{"goal": "put it", "params": "{}", "scene": "dark"}]

TEXTS = ("A text.", "", CODE)
"""Values of the variables that are not listed below."""
VALUES: Mapping[str, tuple[Any, ...]] = {
    "actions": (30, 7),
    "actions_per_reply": (None, 1, 3),
    "larger_examples": (False, True),
    "untyped": (False, True),
    "candidates": ([MatchCandidate(name="put", summary="Put it.", params=("what",), goals=("put it",))], []),
    "calls": ({"rule_1": ["find(agent, name)"]}, {"rule_1": ["find()"], "rule_2": ["take()", "put()"]}),
    "cells": ([CELL], []),
    "conclusion": (Conclusion(text="So.", code=CODE), Conclusion(text="")),
    "cooperation": (True, False),
    "defined": (["find"], []),
    "detailed": (False, True),
    "episode": ("task/3", "task/4"),
    "evidence": ({"rule_4": "cited in 2 episodes"}, {}),
    "example": (CODE, ""),
    "failures": (["it was dark"], []),
    "fence": ("```", "````"),
    "form": FORMS,
    "goals": (["put the key on the table"], ["another goal"]),
    "helpers": (True, False),
    "ids": (["rule_1", "rule_2"], ["rule_3"]),
    "informed": (False, True),
    "left": (2, 0, 1),
    "levels": (2, 0, 1),
    "failed": (("search for a lamp",), ("open it", "close it")),
    "lessons": (("Look into the drawer.",), ()),
    "max_rules": (12, 3),
    "names": (["put"], []),
    "no_helpers": (False, True),
    "others": (OTHERS, []),
    "params": ("{'things': ['key']}", "{}"),
    "params_told": (True, False),
    "pauses": (True, False),
    "reflection": (None, REFLECTION),
    "refused": (2, 1, 0),
    "repeated": (False, True),
    "replies": (20, 1),
    "rules": ([RULE], []),
    "same_type": (True, False),
    "skill": (SKILL, None),
    "solved": (1, 2),
    "action_docs": (SURFACE, EMPTY_SURFACE),
    "taken": (5, 9),
    "thoughts": (True, False),
    "total": (4, 5),
    "trajectory": (EPISODE, EPISODE.model_copy(update={"rounds": ()})),
    "types": (TYPES, []),
}
TEXT_VALUES = {"trajectory": ("What happened.", CODE), "rules": ("## rule_1", "")}
WITH_TEXT = {
    "trajectory": {"conclusion_direct", "conclusion_indirect", "conclusion_failure", "classify", "manage", "episode"},
    "rules": {"generalise", "known", "formulate"},
}
OVERRIDDEN = {"planner/automanual/system_code.j2": {"cooperation"}}
"""Maps a template to variables that are used only in a block of its parent that the template overrides."""
OTHER_MEANINGS: Mapping[tuple[str, str], tuple[Any, ...]] = {
    ("manuals/formulator.j2", "types"): (["fetch", "fetch_two"], []),
    ("rules/calls.j2", "rules"): ("The rules.", "Other rules."),
    ("rules/generalise.j2", "skill"): (SKILL, SKILL.model_copy(update={"task": OTHER})),
}
"""Values for templates in which a variable has another meaning, or always has a value."""
_CALL = Action("mine", ({"log": 1}, None))
_GOAL = Goal(action=_CALL, line=1, source="mine log", said="mine log")
DEPS_VALUES: Mapping[str, tuple[Any, ...]] = {
    "no_goals": (["sing a song"], []),
    "possible": (["agent.open('box_1')"], []),
    "pursued": (
        PursuitResult([GoalResult(_GOAL, "agent.mine({'birch_log': 1}, None)", False, "no tree")], [_GOAL]),
        PursuitResult([GoalResult(_GOAL, _GOAL.call, True, "there")], [], controlled=True),
    ),
}
ADVOCATE_VALUES: Mapping[str, tuple[Any, ...]] = {
    "answering": ("stop", ""),
    "current": (0, 1),
    "deeds": (["Felt the wall."], []),
    "earlier": ([FailedRound(["look"], ["Felt the wall."], "It was over.")], [FailedRound(["look"], [], "So.")], []),
    "notes": (["It is cold."], []),
    "noting": (True, False),
    "parts": (["look", "bring it"], ["look"]),
    "whole": (True, False),
    "words": (200, 100),
}


def values_of(name: str, variable: str) -> tuple[Any, ...]:
    stem = name.rpartition("/")[2].removesuffix(".j2")
    if (name, variable) in OTHER_MEANINGS:
        return OTHER_MEANINGS[name, variable]
    if "/advocate/" in name and variable in ADVOCATE_VALUES:
        return ADVOCATE_VALUES[variable]
    return (
        TEXT_VALUES[variable]
        if stem in WITH_TEXT.get(variable, set())
        else {**DEPS_VALUES, **VALUES}.get(variable, TEXTS)
    )


def samples(name: str, prompt: Prompt) -> list[dict[str, Any]]:
    """Return the first values, the second values, and the first values with one variable after the other replaced."""
    first = {variable: values_of(name, variable)[0] for variable in prompt.variables}
    second = {variable: values_of(name, variable)[-1] for variable in prompt.variables}
    return [first, second, *({**first, variable: second[variable]} for variable in first)]


@pytest.mark.parametrize("name", ALL)
def test_every_template_renders_and_uses_each_variable(name: str) -> None:
    prompt = ALL[name]
    texts = {prompt.render(**sample) for sample in samples(name, prompt)}
    for variable in prompt.variables - OVERRIDDEN.get(name, set()):
        rendered = [
            {prompt.render(**{**sample, variable: value}) for value in values_of(name, variable)}
            for sample in samples(name, prompt)
        ]
        assert max(map(len, rendered)) > 1, f"{variable} makes no difference to {name}"
        texts.update(*rendered)
    for text in texts:
        assert text == text.strip()
        assert "{%" not in text.replace(CODE, "")
        assert "{{" not in text.replace(CODE, "")


def test_a_missing_or_unused_variable_is_an_error() -> None:
    prompt = Prompts.of(question="{{ a }} {{ b }}")["question"]
    for variables, message in (
        ({"a": 1}, r"wrong \(missing: b\)$"),
        ({"a": 1, "b": 2, "c": 3}, r"wrong \(unused: c\)$"),
    ):
        with pytest.raises(TypeError, match=message):
            prompt.render(**variables)
    with pytest.raises(UndefinedError):
        ALL["planner/trajectory.j2"].render(trajectory={"rounds": []}, thoughts=True, taken=0, refused=0)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("planner/trajectory.j2", "trajectory"),
        ("planner/reflexion/reflect.j2", "cells"),
        ("rules/builder/manage.j2", "conclusion"),
        ("rules/builder/episode.j2", "rules"),
        ("rules/consolidator/rules.j2", "rules"),
        ("rules/generalise.j2", "skill"),
        ("rules/known.j2", "skill"),
        *((name, each) for name in ALL for each in sorted(ALL[name].variables) if CODE in values_of(name, each)),
    ],
)
def test_code_stays_unchanged_in_a_prompt(name: str, variable: str) -> None:
    if CODE not in values_of(name, variable):
        assert CODE in ALL[name].render(**samples(name, ALL[name])[0])
        return
    marked = f"{CODE} # of {variable}"
    assert any(marked in ALL[name].render(**{**sample, variable: marked}) for sample in samples(name, ALL[name]))


def test_the_prompt_of_every_form_of_rules_asks_for_its_attributes_only() -> None:
    for types, examples, logs, helpers in product((True, False), repeat=4):
        form = RuleForm(types=types, examples=examples, logs=logs, helper_methods=helpers)
        kinds = [kind.value for kind in RuleType if kind in form.allowed_types]
        system = ALL["rules/builder/system.j2"].render(
            about="", action_docs=SURFACE, form=form, types=kinds, max_rules=12
        )
        text = system + "".join(ALL[f"rules/builder/case_{number}.j2"].render(form=form) for number in range(1, 6))
        assert ('type="' in text, 'example="' in text, 'log="' in text) == (types, examples, logs)
        assert ('"Useful Helper Method"' in text) == (types and helpers)


def test_the_variables_of_a_template_include_those_of_included_templates(tmp_path: Path) -> None:
    (tmp_path / "outer.j2").write_text("{{ a }} {% include 'deep/inner.j2' %}")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "inner.j2").write_text("{{ b }}{% set c = 1 %}{{ c }}")
    prompts = Prompts(tmp_path)
    assert set(prompts.files()) == {"outer.j2", "deep/inner.j2"}
    assert prompts["outer"].variables == {"a", "b"}
    assert prompts["outer"] is prompts["outer"]
    assert prompts["outer"].render(a="<x>", b="{{ b }}") == "<x> {{ b }}1"


@pytest.mark.parametrize("observation", ["A room.", f"A room. {TASK.goal}."])
def test_a_trajectory_has_the_goal_once(observation: str) -> None:
    rounds = (Round(number=0, observation=observation, cells=(CELL,)),)
    trajectory = EPISODE.model_copy(update={"rounds": rounds})
    prompt = ALL["planner/trajectory.j2"]
    text = prompt.render(trajectory=trajectory, thoughts=True, taken=0, refused=0)
    assert text.count(TASK.goal) == 1


def test_values_are_shown_as_json_without_escapes() -> None:
    assert Prompts.of(names="{{ names | json }}")["names"].render(names=["Ilić", "O'Hara"]) == '["Ilić", "O\'Hara"]'


# Digests of prompts, by which recorded replies are found.


class Record(BaseModel):
    """A record in a prompt."""

    scene: str
    about: str = ""
    taken: int = 0


class RenamedRecord(BaseModel):
    """The same record after a change of the code."""

    view: str
    about: str = ""
    steps: int = 0
    added: tuple[str, ...] = ()


def test_a_digest_ignores_wording_names_and_new_empty_fields() -> None:
    same = digest_of(Record(scene="a desk", about="A house.", taken=2))
    assert same == digest_of(RenamedRecord(view="a desk", about="A home, in other words.", steps=2))
    assert same != digest_of(Record(scene="a shelf", taken=2))
    assert same != digest_of(Record(scene="a desk", taken=3))


def test_a_digest_does_not_depend_on_the_place_in_the_run() -> None:
    def step(scope: str, text: str) -> Step:
        return Step(scope=scope, cell=0, line=1, action=Action("open", ("box_1",)), observation=Observation(text))

    assert digest_of([step("task/0", "a key")]) == digest_of([step("task/7", "a key")])
    assert digest_of([step("task/0", "a key")]) != digest_of([step("task/0", "a pen")])


def test_a_digest_of_a_rendered_text_is_that_of_its_data() -> None:
    one, other = RenderedText.of("You see a desk.", "a desk"), RenderedText.of("There is a desk.", "a desk")
    assert digest_of({"scene": one}) == digest_of({"scene": other}) != digest_of({"scene": str(one)})
    assert Message(role="user", content=one).data_digest == Message(role="user", content=other).data_digest
    assert Message(role="user", content=one).data_digest != Message(role="user", content=str(one)).data_digest
    feedback = [Feedback(kind=FeedbackKind.RAISED, text=text) for text in (one, other)]
    assert digest_of(feedback[0]) == digest_of(feedback[1])


def test_recalled_knowledge_keeps_its_digest_in_the_journal() -> None:
    recall = Recall(text=RenderedText.of("Rule 1: look.", "rule_1"))
    again = Recall.model_validate_json(recall.model_dump_json())
    assert again == recall
    assert digest_of(again.text) == digest_of(recall.text) != digest_of(str(recall.text))
    assert Recall.model_validate({"text": "of planbook 0.1.0"}).data == ""
