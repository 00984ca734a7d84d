"""Conversations that are too long for the context are cut, by an estimate of their length."""

import re

import pytest
from hypothesis import assume, given, strategies as st

from planbook.planner import Message, Sampling
from planbook.planner.errors import ContextExceeded
from planbook.planner.models.types import Speaker, estimate_prompt, estimate_tokens
from planbook.planner.shortening import CLOSE, NAME_END, OPEN, WHOLE, FittedPrompt, fit, prompt_block, prompt_limit

WORDS = "word " * 100


def message(role: Speaker, content: str) -> Message:
    return Message(role=role, content=content)


def conversation(exchanges: int, text: str = WORDS) -> list[Message]:
    messages = [message("system", "Be brief."), message("user", "The task.")]
    for number in range(exchanges):
        messages += [message("assistant", f"plan {number} {text}"), message("user", f"feedback {number} {text}")]
    return messages


@pytest.mark.parametrize("left_out", [2, 6])
def test_the_oldest_exchanges_are_left_out_with_one_note_and_the_last_stays(left_out: int) -> None:
    messages = conversation(4)
    rest = messages[2 + left_out :]
    fitted = fit(messages, estimate_prompt([*messages[:2], *rest]) + 40)
    assert (fitted.left_out, fitted.cut_characters) == (left_out, 0)
    assert fitted.messages[0] == messages[0]
    assert fitted.messages[1].content == f"The task.\n\n[{left_out} earlier messages were left out to fit the context]"
    assert fitted.messages[2:] == tuple(rest)


def test_one_long_output_is_cut_before_other_messages_are_left_out() -> None:
    for place in (3, -1):
        messages = conversation(3)
        messages[place] = message("user", "a line of output\n" * 10_000)
        fitted = fit(messages, 20_000)
        assert (fitted.left_out, len(fitted.messages)) == (0, len(messages))
        assert fitted.cut_characters > 150_000
        assert "characters were cut here to fit the context]" in fitted.messages[place].content


def test_blocks_are_left_out_in_their_order_and_named() -> None:
    examples = "".join(f"Rule {n}.\n{prompt_block(f'example {n} ' + WORDS, 'example of a rule')}\n" for n in range(2))
    text = f"{examples}{prompt_block('code ' + WORDS, 'code of an earlier task')}\nThe task."
    messages = [message("system", "Be brief."), message("user", text), *conversation(2)[2:]]
    total_tokens = estimate_prompt(fit(messages, 10_000).messages)
    block_tokens, note = estimate_prompt([message("user", WORDS)]), 20

    def seen(blocks: int) -> str:
        room = total_tokens - blocks * (block_tokens - note)
        return "\n".join(each.content for each in fit(messages, room).messages)

    assert not any(mark in seen(0) for mark in (OPEN, NAME_END, CLOSE, "left out"))
    assert "[left out to fit the context: code of an earlier task]" in seen(1)
    assert all(kept in seen(1) for kept in ("example 0", "example 1", "plan 0", "plan 1"))
    assert "[2 earlier messages were left out to fit the context]" in seen(3)
    assert all(kept in seen(3) for kept in ("example 0", "example 1", "plan 1"))
    assert ("example 0" in seen(4), "example 1" in seen(4)) == (True, False)
    assert all(kept in seen(5) for kept in ("Rule 0.", "Rule 1.", "The task.", "plan 1"))
    assert fit(messages, total_tokens - note).cut_characters == len("code " + WORDS)


def test_a_whole_block_is_never_cut() -> None:
    episode = "".join(f"step {number}\n" for number in range(100))
    text = f"{'rules ' * 500}{prompt_block(episode, WHOLE)}{'question ' * 100}"
    (fitted,) = fit([message("user", text)], estimate_prompt([message("user", episode)]) + 400).messages
    assert episode in fitted.content
    with pytest.raises(ContextExceeded):
        fit([message("user", prompt_block(episode, WHOLE))], 300)


def test_an_unknown_block_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown name of a block: 'poem'; the names are code of an earlier task, "):
        prompt_block("text", "poem")
    assert prompt_block(" \n", "demonstration") == " \n"


def test_the_longest_message_is_cut_in_its_middle_between_two_lines() -> None:
    long = "".join(f"line {number}\n" for number in range(1000))
    messages = [message("system", "Be brief."), message("user", long)]
    fitted = fit(messages, 1000)
    (system, user) = fitted.messages
    assert system == messages[0]
    head, note, tail = user.content.partition(
        f"\n[{fitted.cut_characters} characters were cut here to fit the context]\n"
    )
    assert note
    assert long.startswith(f"{head}\n")
    assert long.endswith(f"\n{tail}")
    assert abs(len(head) - len(tail)) < 20
    assert 950 < estimate_prompt(fitted.messages) <= 1000


def test_a_message_that_is_cut_twice_has_one_true_note() -> None:
    long = "".join(f"line {number}\n" for number in range(10_000))
    fitted = fit([*conversation(1)[:2], message("assistant", "plan"), message("user", long)], 2000)
    head, tail = re.split(rf"\n\[{fitted.cut_characters} characters were cut here .*\]\n", fitted.messages[-1].content)
    assert len(head) + len(tail) + fitted.cut_characters == len(long)


def test_characters_cut_from_messages_that_were_left_out_do_not_count() -> None:
    messages = conversation(2)
    messages[3] = message("user", "a line of output\n" * 10_000)
    fitted = fit(messages, estimate_prompt(messages[:2]) + estimate_prompt(messages[4:]) + 40)
    assert (fitted.left_out, fitted.cut_characters) == (2, 0)


def test_several_long_messages_are_cut_to_the_same_length() -> None:
    messages = [message("system", "s" * 9000), message("user", "u" * 300), message("user", "l" * 8000)]
    fitted = fit(messages, 700)
    lengths = [each.content.count(each.content[0]) for each in fitted.messages]
    assert lengths[1] == 300
    assert abs(lengths[0] - lengths[2]) <= 2  # the notes hold these letters too


def test_a_conversation_that_cannot_fit_is_an_error_with_both_sizes() -> None:
    with pytest.raises(
        ContextExceeded, match=r"even with each message cut to 400 characters, .* about \d+ tokens, .* room for 20"
    ):
        fit([message("system", WORDS), message("user", WORDS)], 20)
    with pytest.raises(ContextExceeded):
        fit([], -1)


def test_the_room_of_a_prompt_is_the_context_without_the_reply() -> None:
    assert prompt_limit(Sampling(context=16_000, max_tokens=2_000)) == 14_000
    assert prompt_limit(Sampling(context=16_000, max_tokens=None)) == 8_000


ROLES = st.sampled_from(["system", "user", "assistant"])
CONVERSATIONS = st.lists(st.builds(Message, role=ROLES, content=st.text(max_size=3000)), max_size=12)


@given(CONVERSATIONS, st.integers(0, 4000))
def test_a_fitted_conversation_fits_and_keeps_the_required_messages(messages: list[Message], room: int) -> None:
    try:
        fitted = fit(messages, room)
    except ContextExceeded:
        assert estimate_prompt(messages) > room
        return
    assert estimate_prompt(fitted.messages) <= room
    if estimate_prompt(messages) <= room:
        assert fitted == FittedPrompt(tuple(messages))
    if not fitted.cut_characters:
        must = [each for each in messages if each.role == "system"] + messages[-1:]
        must += [each for each in messages if each.role == "user"][:1]
        for each in must:
            assert any(kept.role == each.role and kept.content.startswith(each.content) for kept in fitted.messages)
    note = f"[{fitted.left_out} earlier message"
    assert any(note in each.content for each in fitted.messages) or not fitted.left_out
    notes_of_their_own = len(fitted.messages) - (len(messages) - fitted.left_out)
    assert notes_of_their_own in ((0, 1) if fitted.left_out else (0,))


@given(st.integers(1, 8), st.booleans(), st.integers(150, 3000), st.text(min_size=1, max_size=900))
def test_alternating_roles_still_alternate(exchanges: int, system: bool, room: int, text: str) -> None:
    messages = conversation(exchanges, text)[0 if system else 1 :]
    try:
        fitted = fit(messages, room)
    except ContextExceeded:
        assume(False)
        raise
    roles = [each.role for each in fitted.messages if each.role != "system"]
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    assert roles[-1] == "user"


@given(st.text(), st.text())
def test_an_estimate_grows_with_the_text(one: str, other: str) -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens(one + other) >= max(estimate_tokens(one), estimate_tokens(other)) - 1


@pytest.mark.parametrize(
    ("text", "true"),  # the tokens that cl100k counts
    [
        ("def solve(agent, task):\n    return agent.go_to('shelf 1')\n", 17),
        ("You open drawer 17. In it, you see a cd 3, a pencil 1.", 20),
        ("The agent opens the drawer and finds a spoon in it, which it puts into the sink afterwards.", 19),
        ('<button ref=12 data-tampered="e0">Submit</button>', 15),
    ],
)
def test_estimates_are_at_most_sixty_percent_too_high(text: str, true: int) -> None:
    assert true <= estimate_tokens(text) <= true * 1.6
