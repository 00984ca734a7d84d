"""The conversations of episodes as tools for fine-tuning read them: ``{"messages": [{"role", "content"}, ...]}``.

What was asked of a model again and again with a growing history is one conversation, written once, with the last reply
at its end. A reply that could not be used is left out, and so is the complaint that it was answered with, as if the
usable one had come at once; ``with_repairs`` keeps both. One whose last reply stayed unusable is never written. What a
rewind undid stays: the model said it, and went on from it.
"""

import json
from collections.abc import Collection, Iterator, Sequence

from planbook.planner import NO_ANSWER, NOT_RUN, PROMPTS, Call, FeedbackKind, Message, Trajectory

PROBLEM = "\0"
BEFORE, AFTER = PROMPTS["repair"].render(problem=PROBLEM).split(PROBLEM)
"""The beginning and the end of a complaint about an unusable reply."""
Conversation = tuple[Message, ...]


def conversation_line(conversation: Conversation) -> str:
    """Return one line of the file."""
    messages = [{"role": message.role, "content": message.content} for message in conversation]
    return json.dumps({"messages": messages}, ensure_ascii=False, separators=(",", ":"))


def conversations_of(
    trajectory: Trajectory, roles: Collection[str] = (), *, with_repairs: bool = False
) -> list[Conversation]:
    """Return the conversations of an episode, of these roles or of all, in the order in which they ended."""
    calls = [_as_written(call) for call in sorted(trajectory.calls, key=lambda call: call.order)]
    unusable = set(_unusable(trajectory, calls))
    talks: dict[Conversation, None] = {}
    for call in calls:
        if roles and call.role not in roles:
            continue
        asked = call.messages if with_repairs else without_complaint(call.messages)
        for length in range(1, len(asked) + 1):
            talks.pop(asked[:length], None)  # this one goes on from there
        if with_repairs or call.order not in unusable:
            talks[*asked, _said(call)] = None
    last = {call.messages for call in calls if call.order in unusable}
    return [talk for talk in talks if fits(talk) and not (with_repairs and talk[:-1] in last)]


def fits(talk: Sequence[Message]) -> bool:
    """Return whether the format takes it: perhaps a system message, then user and assistant in turn, to the last."""
    turns = talk[1:] if talk and talk[0].role == "system" else talk
    in_turn = all(each.role == ("user", "assistant")[place % 2] for place, each in enumerate(turns))
    return len(turns) >= 2 and len(turns) % 2 == 0 and in_turn and all(each.content.strip() for each in talk)


def without_complaint(messages: Conversation) -> Conversation:
    """Return the messages without an unusable reply and the complaint about it at their end."""
    last = messages[-1] if messages else None
    complains = last is not None and last.role == "user" and _complains(last.content)
    return messages[:-2] if complains and len(messages) > 2 and messages[-2].role == "assistant" else messages


def _complains(text: str) -> bool:
    return text.startswith(BEFORE) and text.endswith(AFTER) and len(text) > len(BEFORE) + len(AFTER)


def _as_written(call: Call) -> Call:
    """Return the call with the replies before it as the model wrote them, without marks of what was not run."""
    messages = (
        message.model_copy(update={"content": message.content.replace(f"\n{NOT_RUN}", "")})
        if message.role == "assistant"
        else message
        for message in call.messages
    )
    return call.model_copy(update={"messages": tuple(messages)})


def _said(call: Call) -> Message:
    return Message(role="assistant", content=call.reply.text or NO_ANSWER)


def _unusable(trajectory: Trajectory, calls: Sequence[Call]) -> Iterator[int]:
    """Give the calls with an unusable reply: nothing came, it was complained about, or its cell says that none came."""
    given_up = {
        (cell.scope, cell.order)
        for played in trajectory.rounds
        for cell in played.cells
        if cell.feedback.kind is FeedbackKind.PARSE
    }
    for place, call in enumerate(calls):
        later = [each for each in calls[place + 1 :] if each.scope == call.scope]
        complaint = bool(later) and later[0].messages[:-1] == (*without_complaint(call.messages), _said(call))
        complained = complaint and _complains(later[0].messages[-1].content)
        if not call.reply.text.strip() or complained or (call.scope, call.order + 1) in given_up:
            yield call.order
