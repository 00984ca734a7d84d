"""Write the conversations of episodes for fine-tuning: one per line, as JSON in the format of chat models.

Unusable replies, and planbook's complaints about them, are left out.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import BinaryIO

from planbook.errors import BadArgument
from planbook.planner import METHODS, NO_ANSWER, NOT_RUN, PROMPTS, Call, FeedbackKind, Message, Trajectory
from planbook.workers.models import LEARNING_ROLES

COMPLAINT = PROMPTS["repair"].render(problem="\0").split("\0")
"""The texts before and after the description of the problem in a message that complains about an unusable reply."""
Conversation = tuple[Message, ...]


def write_conversations(episodes: Iterable[Trajectory], roles: Collection[str], file: BinaryIO) -> int:
    """Write the episodes' conversations with models in these roles, or in all roles if ``roles`` is empty.

    Return the number of conversations. Raises BadArgument if neither a method nor an episode has one of the roles.
    """
    written, known_roles = 0, {role for method in METHODS.values() for role in (*method.roles, *LEARNING_ROLES)}
    for trajectory in episodes:
        known_roles |= {call.role for call in trajectory.calls}
        conversations = conversations_of(trajectory, roles)
        written += len(conversations)
        file.writelines(f"{conversation_line(conversation)}\n".encode() for conversation in conversations)
    if unknown := sorted(set(roles) - known_roles):
        raise BadArgument(f"--roles: there is no role {unknown[0]!r}; the roles are {', '.join(sorted(known_roles))}")
    return written


def conversation_line(conversation: Conversation) -> str:
    """Return a conversation as a line of JSON."""
    messages = [{"role": message.role, "content": message.content} for message in conversation]
    return json.dumps({"messages": messages}, ensure_ascii=False, separators=(",", ":"))


def conversations_of(trajectory: Trajectory, roles: Collection[str] = ()) -> list[Conversation]:
    """Return the conversations of an episode, in the order in which they ended.

    With ``roles``, return only conversations with models in these roles. If the messages of a call begin with an
    earlier conversation, the call continues it, and only the longer conversation is returned.
    """
    calls = [_without_not_run_notes(call) for call in sorted(trajectory.calls, key=lambda call: call.order)]
    unusable = set(_unusable_replies(trajectory, calls))
    conversations: dict[Conversation, None] = {}
    for call in calls:
        if roles and call.role not in roles:
            continue
        messages = without_complaint(call.messages)
        for length in range(1, len(messages) + 1):
            conversations.pop(messages[:length], None)  # this call continues the conversation
        if call.order not in unusable:
            conversations[*messages, _reply_of(call)] = None
    return [turns for turns in conversations if is_chat(turns)]


def is_chat(messages: Sequence[Message]) -> bool:
    """Return True if the messages fit the format: an optional system message, then user and assistant in turn."""
    turns = messages[1:] if messages and messages[0].role == "system" else messages
    alternates = all(turn.role == ("user", "assistant")[index % 2] for index, turn in enumerate(turns))
    return len(turns) >= 2 and len(turns) % 2 == 0 and alternates and all(turn.content.strip() for turn in messages)


def without_complaint(messages: Conversation) -> Conversation:
    """Return the messages without the last two, if these are an unusable reply and the complaint about it."""
    if len(messages) > 2 and [message.role for message in messages[-2:]] == ["assistant", "user"]:
        return messages[:-2] if _is_complaint(messages[-1].content) else messages
    return messages


def _is_complaint(text: str) -> bool:
    begin, end = COMPLAINT
    return text.startswith(begin) and text.endswith(end) and len(text) > len(begin) + len(end)


def _without_not_run_notes(call: Call) -> Call:
    """Return the call without the notes with which planbook marked code in earlier replies that was not run."""
    messages = (
        message.model_copy(update={"content": message.content.replace(f"\n{NOT_RUN}", "")})
        if message.role == "assistant"
        else message
        for message in call.messages
    )
    return call.model_copy(update={"messages": tuple(messages)})


def _reply_of(call: Call) -> Message:
    return Message(role="assistant", content=call.reply.text or NO_ANSWER)


def _unusable_replies(trajectory: Trajectory, calls: Sequence[Call]) -> Iterator[int]:
    """Yield the ``order`` of each call whose reply was unusable.

    Such a reply is empty, is followed by a message that complains about it, or contains a plan that cannot be parsed.
    """
    unparsed = {
        (cell.scope, cell.order)
        for round_ in trajectory.rounds
        for cell in round_.cells
        if cell.feedback.kind is FeedbackKind.PARSE
    }
    for index, call in enumerate(calls):
        following = next((later.messages for later in calls[index + 1 :] if later.scope == call.scope), ())
        is_repeated = following[:-1] == (*without_complaint(call.messages), _reply_of(call))
        has_complaint = is_repeated and _is_complaint(following[-1].content)
        if not call.reply.text.strip() or has_complaint or (call.scope, call.order + 1) in unparsed:
            yield call.order
