"""Digests of prompts, by which recorded replies are found, depend on the data in a prompt and not on its wording."""

from pydantic import BaseModel

from planbook.envs import Action, Observation
from planbook.planner import Message, Recall
from planbook.planner.types import Feedback, FeedbackKind, RenderedText, Step, digest_of


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
