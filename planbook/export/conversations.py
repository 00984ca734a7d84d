"""Write the conversations of episodes for fine-tuning: a line of JSON for each, in the form that chat models take."""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import BinaryIO

from planbook.planner import NO_ANSWER, NOT_RUN, Call, Message, Trajectory

Conversation = tuple[Message, ...]


def write_conversations(episodes: Iterable[Trajectory], roles: Collection[str], file: BinaryIO) -> int:
    """Write the conversations of episodes with models in these roles, or in all roles if ``roles`` is empty.

    Return the number of conversations.
    """
    written = 0
    for trajectory in episodes:
        conversations = conversations_of(trajectory, roles)
        written += len(conversations)
        file.writelines(f"{conversation_line(conversation)}\n".encode() for conversation in conversations)
    return written


def conversation_line(conversation: Conversation) -> str:
    """Return a conversation as a line of JSON."""
    messages = [{"role": message.role, "content": message.content} for message in conversation]
    return json.dumps({"messages": messages}, ensure_ascii=False, separators=(",", ":"))


def conversations_of(trajectory: Trajectory, roles: Collection[str] = ()) -> list[Conversation]:
    """Return the conversations of an episode, in the order in which they ended.

    If ``roles`` are given, return only conversations with models in these roles. If the messages of a call begin with
    an earlier conversation, the call continues it; only the longer conversation is returned.
    """
    conversations: dict[Conversation, None] = {}
    for call in sorted(trajectory.calls, key=lambda call: call.order):
        if roles and call.role not in roles:
            continue
        messages = _without_marks(call)
        for length in range(1, len(messages) + 1):
            conversations.pop(messages[:length], None)  # this call continues the conversation
        conversations[*messages, Message(role="assistant", content=call.reply.text or NO_ANSWER)] = None
    return list(filter(is_chat, conversations))


def is_chat(messages: Sequence[Message]) -> bool:
    """Return True if messages fit the format: an optional system message, then alternately user and assistant."""
    turns = messages[1:] if messages and messages[0].role == "system" else messages
    alternates = all(turn.role == ("user", "assistant")[index % 2] for index, turn in enumerate(turns))
    return len(turns) >= 2 and len(turns) % 2 == 0 and alternates and all(turn.content.strip() for turn in messages)


def _without_marks(call: Call) -> Conversation:
    """Return the messages of a call with earlier replies as the model wrote them, without planbook's notes in them.

    These notes mark code that was not run.
    """
    return tuple(
        message.model_copy(update={"content": message.content.replace(f"\n{NOT_RUN}", "")})
        if message.role == "assistant"
        else message
        for message in call.messages
    )
