"""Choose the task type of a goal and fill in its parameters, without asking a model.

``planbook.rules.found_types`` finds the types. Each type has wordings: patterns such as ``put {object} in {target}``,
with slots for the parameters. A goal is first compared with the patterns, word for word. If that gives no clear result,
its words are compared with those of the patterns in any order. No type is chosen if two equally good readings of a goal
differ in the type or in a value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from pydantic import JsonValue

from planbook.planner import Match, MatchCandidate
from planbook.rules.found_types import ANYTHING, alnum
from planbook.rules.goal_words import ARTICLES, NUMBERS, NUMERIC, Token, parse_value, scores, spans, tokens, words
from planbook.rules.types import FoundType

PATTERN, WORDS = "pattern", "words"
"""The two ways to match a goal (see ``Match.by``)."""
MAX_READINGS = 100
"""Maximum number of ways to fit the last parts of a pattern to the words of a goal that follow one position."""
MAX_CANDIDATES, MAX_GOALS, MAX_VALUES = 8, 3, 12
"""Limits for a question to a model: the number of types, of goals per type, and of example values per parameter."""
MAX_WORDS = 3
"""Maximum number of words of a goal that are joined to find a known value: ``coffee machine`` is ``coffeemachine``."""
INSIGNIFICANT = frozenset("and in inside into it of on onto please some them then there to".split()) | {"/", ",", ";"}
"""Words that do not distinguish types. "not", "or" and "from" do, so they are not among these words."""
NEGATIONS = frozenset("not never neither nor except".split())
"""Words that reverse the meaning of a goal, besides those that end in n't."""
_PLURAL_NUMBERS = frozenset(NUMBERS.values()) - {"zero", "one"}
"""Number words from "two" on: they show that a goal is about several things."""

_Slots = Mapping[str, tuple[int, int]]
"""Maps the name of a slot to the indexes of its first word and of the word after its last."""


class _Reading(NamedTuple):
    """One way to read a goal: its type, the text in each slot, and the number of the pattern's words outside slots.

    ``texts`` is empty if the type fits, but the values are doubtful. Such a reading never becomes a match.
    """

    type: FoundType
    texts: Mapping[str, str]
    literal_count: int


def match(types: Sequence[FoundType], goal: str) -> Match:
    """Return the type of a goal and its parameter values, or an empty match if the goal's type is not clear."""
    for matcher, readings in ((PATTERN, _by_pattern(types, goal)), (WORDS, _by_words(types, goal))):
        if unambiguous := _unambiguous(list(readings), matcher):
            return unambiguous
    return Match()


def candidates(types: Sequence[FoundType], goal: str) -> tuple[MatchCandidate, ...]:
    """Return the types to offer to a model as candidates: those that share the most words with the goal come first."""
    scored = zip(scores(goal, [_text_of_type(found_type) for found_type in types]), types, strict=True)
    nearest = sorted(scored, key=lambda pair: -max(pair[0], 0))
    return tuple(_candidate(found_type) for _, found_type in nearest[:MAX_CANDIDATES])


def _candidate(found_type: FoundType) -> MatchCandidate:
    goals = (
        tuple(goal for wording in found_type.wordings for goal in wording.goals[:1]) + found_type.wordings[0].goals[1:]
    )
    params = tuple(each.name for each in found_type.parameters)
    all_values = {
        name: dict.fromkeys(each.params[name] for each in found_type.examples if name in each.params) for name in params
    }
    values = {name: tuple(distinct)[:MAX_VALUES] for name, distinct in all_values.items()}
    return MatchCandidate(
        name=found_type.name, summary=found_type.summary, params=params, goals=goals[:MAX_GOALS], had=values
    )


def _unambiguous(readings: list[_Reading], matcher: str) -> Match | None:
    """Return the reading with the most literal words as a match.

    Return None if there are no readings, or if the readings with the most literal words differ.
    """
    most = max((reading.literal_count for reading in readings), default=0)
    matches = [
        Match(type=reading.type.name, params=values, by=matcher)
        for reading in readings
        if reading.literal_count == most and (values := parameter_values(reading.type, reading.texts)) is not None
    ]
    return matches[0] if most and matches and all(match == matches[0] for match in matches) else None


def parameter_values(found_type: FoundType, raw: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return the values of the parameters, converted to their forms, or None if one is missing or does not fit."""
    values = {each.name: parse_value(raw.get(each.name), each.form) for each in found_type.parameters}
    return None if any(value in (None, "") for value in values.values()) else values


def is_doubtful(types: Sequence[FoundType], matched: Match) -> bool:
    """Return True if a value may be a synonym or plural of an example's value, such as ``phone`` for ``cellphone``."""
    examples = [each.params for found_type in types for each in found_type.examples]
    for name, value in matched.params.items():
        example_values = {str(params[name]) for params in examples if name in params}
        if isinstance(value, str) and value.isalpha() and value not in example_values:
            overlaps = any(value in other or other in value for other in example_values if other.isalpha())
            if overlaps or (value.endswith("s") and not any(other.endswith("s") for other in example_values)):
                return True
    return False


# Matching by patterns


def _by_pattern(types: Sequence[FoundType], goal: str) -> Iterator[_Reading]:
    """Yield the readings in which a goal fits a wording word for word. Articles are ignored."""
    goal_tokens = tokens(goal)
    goal_words = [token.pattern_part for token in goal_tokens]
    distinctive = _distinctive_words(types)
    for found_type in types:
        for wording in (alternative for merged in found_type.wordings for alternative in merged.alternatives):
            if ANYTHING in wording.parts and _changes_meaning(found_type, goal_words, distinctive):
                continue
            literal_count = len(wording.literal_words.split())
            for slots in _slots_that_fit(wording.parts, goal_words, _max_words(found_type)):
                texts = {
                    name: goal[goal_tokens[begin].begin : goal_tokens[end - 1].end]
                    for name, (begin, end) in slots.items()
                }
                if words(wording.literal_words) and not distinctive & set(words(" ".join(texts.values()))):
                    doubtful = _has_unusual_neighbour(found_type, goal, slots, wording.parts)
                    yield _Reading(found_type, {} if doubtful else texts, literal_count)


def _changes_meaning(found_type: FoundType, goal_words: Sequence[str], distinctive: set[str]) -> bool:
    """Return True if the words that ``{*}`` matches may give a goal a meaning that no goal of the type has.

    This is the case if none of the type's known goals begins with the goal's first word, or if a negation, a number
    above one, or one of the ``distinctive`` words is in the goal, but in none of the known goals.
    """
    goals = [[token.pattern_part for token in tokens(each.goal)] for each in found_type.examples]
    new_words = set(goal_words).difference(*goals)
    negated_or_counted = any(word in NEGATIONS | _PLURAL_NUMBERS or word.endswith("n't") for word in new_words)
    return (
        negated_or_counted
        or not distinctive.isdisjoint(new_words)
        or goal_words[:1] not in [goal[:1] for goal in goals]
    )


class _Neighbours(NamedTuple):
    """The words before and after a value in a goal, and the articles next to the value.

    ``articles`` has an entry for each article next to the value: the punctuation mark on the far side of the article,
    or "" if there is none.
    """

    before: str
    after: str
    articles: frozenset[str]


def _has_unusual_neighbour(found_type: FoundType, goal: str, slots: _Slots, parts: Sequence[str]) -> bool:
    """Return True if a value has a neighbour that may change its meaning, and that no example's value has.

    Three neighbours may change the meaning: an article next to a text value; a punctuation mark, such as a minus sign,
    before a number; and the word after a number, if ``{*}`` follows the number's slot in the pattern.
    """
    example_neighbours = {
        parameter.name: [
            neighbours
            for example in found_type.examples
            if isinstance(value := example.params.get(parameter.name), str | int | float)
            for neighbours in _neighbours_of_value(value, parameter.form, example.goal)
        ]
        for parameter in found_type.parameters
    }
    known_articles = {mark for group in example_neighbours.values() for each in group for mark in each.articles}
    for parameter in (parameter for parameter in found_type.parameters if parameter.name in slots):
        new = _neighbours(goal, slots[parameter.name])
        if parameter.form not in NUMERIC:
            if new.articles - known_articles:
                return True
            continue
        known = example_neighbours[parameter.name]
        if _punctuation_mark(new.before) and new.before not in {each.before for each in known}:
            return True
        next_index = parts.index(f"{{{parameter.name}}}") + 1
        if ANYTHING in parts[next_index : next_index + 1] and new.after not in {each.after for each in known}:
            return True
    return False


@lru_cache(maxsize=100_000)
def _neighbours_of_value(value: str | float, form: str, goal: str) -> tuple[_Neighbours, ...]:
    return tuple(_neighbours(goal, span) for span in spans(value, form, goal))


def _neighbours(goal: str, span: tuple[int, int]) -> _Neighbours:
    all_tokens, (begin, end) = tokens(goal), span
    before = all_tokens[begin - 1] if begin else Token("", 0, 0)
    after = all_tokens[end] if end < len(all_tokens) else Token("", len(goal), len(goal))
    gaps = ((before, goal[before.end : all_tokens[begin].begin]), (after, goal[all_tokens[end - 1].end : after.begin]))
    articles = (
        _punctuation_mark(token.text) for token, gap in gaps if not ARTICLES.isdisjoint(re.findall(r"\w+", gap.lower()))
    )
    return _Neighbours(before.text.lower(), after.text.lower(), frozenset(articles))


def _punctuation_mark(token: str) -> str:
    """Return a token that is a punctuation mark, or "" if it is a word or a number."""
    return "" if token[:1].isalnum() else token


def _slots_that_fit(parts: Sequence[str], goal_words: Sequence[str], max_words: Mapping[str, int]) -> list[_Slots]:
    """Return the ways in which a pattern fits the words of a goal. Each way maps slots to the words that they take.

    The parts of the pattern are handled from last to first. ``fits`` maps the index of a word to the ways in which the
    parts handled so far fit the words from there to the end. Only ``MAX_READINGS`` ways are kept for an index, so the
    time grows only with the length of the pattern times the length of the goal.
    """
    fits: dict[int, list[_Slots]] = {len(goal_words): [{}]}
    for part in reversed(parts):
        if part == ANYTHING:
            fits = _skip_words(fits, len(goal_words))
        elif part.startswith("{"):
            name, limit = part[1:-1], max_words.get(part[1:-1], 1)
            filled = (
                (start, list(islice(_fill_slot(name, start, limit, fits, goal_words), MAX_READINGS)))
                for start in range(len(goal_words))
            )
            fits = {start: ways for start, ways in filled if ways}
        else:
            fits = {n: fits[n + 1] for n, word in enumerate(goal_words) if word == part and n + 1 in fits}
    return fits.get(0, [])


def _skip_words(fits: Mapping[int, list[_Slots]], end: int) -> dict[int, list[_Slots]]:
    """Return the fits of ``{*}`` and the parts after it. ``fits`` holds the fits of the parts after it alone.

    ``{*}`` matches any number of words: if the later parts fit from some word on, then ``{*}`` and the later parts fit
    from this word and every earlier one.
    """
    skipping, ways = dict[int, list[_Slots]](), list[_Slots]()
    for start in range(end, -1, -1):
        if new := fits.get(start):
            distinct = {tuple(slots.items()): slots for slots in [*new, *ways]}
            ways = list(distinct.values())[:MAX_READINGS]
        if ways:
            skipping[start] = ways
    return skipping


def _fill_slot(
    name: str, start: int, max_words: int, fits: Mapping[int, list[_Slots]], goal_words: Sequence[str]
) -> Iterator[_Slots]:
    """Yield the ways to fill a slot with up to ``max_words`` words from ``start`` on so that the later parts still fit.

    If the pattern has the slot twice, both must take the same words.
    """
    for end in range(start + 1, min(start + max_words, len(goal_words)) + 1):
        for slots in fits.get(end, ()):
            later_begin, later_end = slots.get(name, (start, end))
            if goal_words[later_begin:later_end] == goal_words[start:end]:
                yield {**slots, name: (start, end)}


def _max_words(found_type: FoundType) -> dict[str, int]:
    """Return a dict that maps each parameter to the maximum number of words in its value.

    This is the number of words in the examples' longest value, or one more if these values differ in length.
    """
    longest = dict[str, int]()
    for parameter in found_type.parameters:
        counts = {len(tokens(str(each.params.get(parameter.name, "")))) for each in found_type.examples}
        longest[parameter.name] = max(counts) + (len(counts) > 1)
    return longest


def _distinctive_words(types: Sequence[FoundType]) -> set[str]:
    """Return all words that wordings have outside their slots, except for words in the examples' values."""
    literal = {word for each in types for wording in each.wordings for word in words(wording.literal_words)}
    values = {word for each in types for example in each.examples for word in words(str(list(example.params.values())))}
    return literal - values


# Matching by words in any order


def _by_words(types: Sequence[FoundType], goal: str) -> Iterator[_Reading]:
    """Yield the readings in which a goal has all words of a wording, and an example's value for each of its slots.

    The words may differ in their endings ("ing", "ed") and their order, but each must come before the same slot as in
    the wording. A value may be written as several words: ``coffee machine`` is read as ``coffeemachine``.
    """
    letters = alnum(goal)
    for found_type in types:
        for wording in found_type.wordings:
            expected = [_stem(part) for part in wording.parts if part not in INSIGNIFICANT]
            if not all(part[0] == "{" or part in NUMBERS.values() or alnum(part) in letters for part in expected):
                continue
            literal = {alnum(part): ("", part) for part in wording.literal_words.split()}
            parsed = _parse_goal(
                goal, literal | _known_values(found_type, types, plurals=not _PLURAL_NUMBERS.isdisjoint(expected))
            )
            if parsed is None or ANYTHING in expected:
                continue
            parts, values = parsed
            if values.keys() == {p.name for p in found_type.parameters} and _pair_words(parts) == _pair_words(expected):
                slot_spans = {
                    p.name: span for p in found_type.parameters for span in spans(values[p.name], p.form, goal)
                }
                doubtful = _has_unusual_neighbour(found_type, goal, slot_spans, wording.parts)
                yield _Reading(found_type, {} if doubtful else values, len(expected) - len(values))


def _parse_goal(goal: str, known: Mapping[str, tuple[str, str]]) -> tuple[list[str], dict[str, str]] | None:
    """Return the goal as the parts of a wording, such as ``put {object} in {target}``, and the value for each slot.

    ``known`` is keyed by the ``alnum`` of a value or word. It maps a value to its parameter and itself, and a word of
    the wording to "" and itself. Return None if a parameter would have two values.
    """
    remaining, parts, values = [token.pattern_part for token in tokens(goal)], list[str](), dict[str, str]()
    while remaining:
        joined = {n: alnum("".join(remaining[:n])) for n in range(MAX_WORDS, 0, -1) if all(map(alnum, remaining[:n]))}
        sizes = (n for n, letters in joined.items() if letters in known)
        size = next(sizes, 0)
        name, value = known[joined[size]] if size else ("", remaining[0])
        if name in values:
            return None
        if name:
            values[name] = value
        if name or value not in INSIGNIFICANT:
            parts.append(f"{{{name}}}" if name else _stem(value))
        remaining = remaining[size or 1 :]
    return parts, values


def _pair_words(parts: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each word of a wording with the slot that follows it, or with the last slot if none follows."""
    pairs, slot = list[tuple[str, str]](), next((part for part in reversed(parts) if part.startswith("{")), "")
    for part in reversed(parts):
        slot = part if part.startswith("{") else slot
        pairs += [] if part.startswith("{") else [(part, slot)]
    return sorted(pairs)


def _known_values(found_type: FoundType, types: Sequence[FoundType], *, plurals: bool) -> dict[str, tuple[str, str]]:
    """Return a dict that maps the ``alnum`` of each value in the examples to its parameter and the value.

    A value that several parameters have had is left out. With ``plurals``, the plurals of values are added.
    """
    known, names = dict[str, tuple[str, str]](), {each.name for each in found_type.parameters}
    ambiguous = set[str]()
    for name, value in ((n, str(v)) for each in types for example in each.examples for n, v in example.params.items()):
        for key in [alnum(value)] + [alnum(value) + end for end in ("s", "es") if plurals]:
            if name in names and known.setdefault(key, (name, value))[0] != name:
                ambiguous.add(key)
    return {key: pair for key, pair in known.items() if key not in ambiguous}


def _stem(word: str) -> str:
    word = NUMBERS.get(word, word)
    end = next((end for end in ("ing", "ed") if word.endswith(end) and len(word) > len(end) + 2), "")
    return word.removesuffix(end)


def _text_of_type(found_type: FoundType) -> str:
    return " ".join([found_type.name, found_type.summary, *(wording.literal_words for wording in found_type.wordings)])
