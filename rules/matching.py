"""Choose the found type of a goal and fill its parameters, by learned patterns and by words; or abstain."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from pydantic import JsonValue

from planbook.planner import Match, MatchCandidate
from planbook.rules.found_types import ANYTHING, ARTICLES, NUMBERS, NUMERIC, Token, parse_value, spans, tokens
from planbook.rules.retrieval import scores, words
from planbook.rules.types import FoundType

PATTERN, WORDS = "pattern", "words"
"""The two ways of matching a goal."""
MAX_READINGS = 100
"""Maximum number of readings of a goal, or of the rest of it, that are considered for one pattern."""
MAX_CANDIDATES, MAX_GOALS, MAX_VALUES = 8, 3, 12
"""Maximum number of types that a model is asked about, and of goals and values of a parameter shown for each."""
MAX_WORDS = 3
"""Maximum number of words in which a known value may be written."""
INSIGNIFICANT = frozenset("and in inside into it of on onto please some them then there to".split()) | {"/", ",", ";"}
"""Words of a goal that do not distinguish types; words such as "not", "or" and "from" do."""
NEGATIONS = frozenset("not never neither nor except".split())
"""Words that reverse the meaning of a goal, besides those that end in n't."""
_COUNTS = frozenset(NUMBERS.values()) - {"zero", "one"}


_Slots = Mapping[str, tuple[int, int]]
"""The indexes of each slot's first word and of the word after its last, by the name of the slot."""


class _Reading(NamedTuple):
    """One reading of a goal: a type, the words in its slots, and the number of literal words of its pattern."""

    type: FoundType
    slots: Mapping[str, str]
    literal: int


def match(types: Sequence[FoundType], goal: str) -> Match:
    """Return the type of a goal and its parameters if patterns or words leave no doubt; else an empty match."""
    for by, readings in ((PATTERN, _by_pattern(types, goal)), (WORDS, _by_words(types, goal))):
        if unambiguous := _unambiguous(list(readings), by):
            return unambiguous
    return Match()


def candidates(types: Sequence[FoundType], goal: str) -> tuple[MatchCandidate, ...]:
    """Return the types that a model is asked about; those that share words with the goal come first."""
    scored = zip(scores(goal, [_text_of(found) for found in types]), types, strict=True)
    nearest = sorted(scored, key=lambda pair: -max(pair[0], 0))
    return tuple(_candidate(found) for _, found in nearest[:MAX_CANDIDATES])


def _candidate(found: FoundType) -> MatchCandidate:
    goals = tuple(goal for wording in found.wordings for goal in wording.goals[:1]) + found.wordings[0].goals[1:]
    params = tuple(each.name for each in found.parameters)
    seen = {name: dict.fromkeys(each.params[name] for each in found.examples if name in each.params) for name in params}
    values = {name: tuple(each)[:MAX_VALUES] for name, each in seen.items()}
    return MatchCandidate(name=found.name, summary=found.summary, params=params, goals=goals[:MAX_GOALS], had=values)


def _unambiguous(readings: list[_Reading], by: str) -> Match | None:
    """Return the reading with the most literal words as a match; None if there is none, or several that differ."""
    most = max((reading.literal for reading in readings), default=0)
    matches = [
        Match(type=reading.type.name, params=values, by=by)
        for reading in readings
        if reading.literal == most and (values := parameter_values(reading.type, reading.slots)) is not None
    ]
    return matches[0] if most and matches and all(each == matches[0] for each in matches) else None


def parameter_values(found: FoundType, raw: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return the value of each parameter, in its form; None if one is missing or has another form."""
    values = {each.name: parse_value(raw.get(each.name), each.form) for each in found.parameters}
    return None if any(value in (None, "") for value in values.values()) else values


def is_doubtful(types: Sequence[FoundType], matched: Match) -> bool:
    """Return True if a value may be a synonym or plural of an example's value, such as ``phone`` for ``cellphone``."""
    examples = [each.params for found in types for each in found.examples]
    for name, value in matched.params.items():
        known = {str(params[name]) for params in examples if name in params}
        if isinstance(value, str) and value.isalpha() and value not in known:
            overlaps = any(value in other or other in value for other in known if other.isalpha())
            if overlaps or (value.endswith("s") and not any(other.endswith("s") for other in known)):
                return True
    return False


# Patterns


def _by_pattern(types: Sequence[FoundType], goal: str) -> Iterator[_Reading]:
    """Yield the readings of a goal that fit a wording word for word, ignoring articles."""
    goal_tokens = tokens(goal)
    goal_words = [token.part for token in goal_tokens]
    distinctive = _distinctive_words(types)
    for found in types:
        for wording in (each for merged in found.wordings for each in merged.alternatives):
            if ANYTHING in wording.parts and _changes_meaning(found, goal_words, distinctive):
                continue
            literal = len(wording.literal_words.split())
            for slots in _fit(wording.parts, goal_words, _max_words(found)):
                texts = {
                    name: goal[goal_tokens[begin].begin : goal_tokens[end - 1].end]
                    for name, (begin, end) in slots.items()
                }
                if words(wording.literal_words) and not distinctive & set(words(" ".join(texts.values()))):
                    doubtful = _is_unlike_examples(found, goal, slots, wording.parts)
                    yield _Reading(found, {} if doubtful else texts, literal)


def _changes_meaning(found: FoundType, goal_words: Sequence[str], distinctive: set[str]) -> bool:
    """Return True if the words that ``{*}`` matches may give a goal a meaning that the type's goals do not have.

    They may if none of the type's goals begins with the goal's first word, or if the goal has a new word that is a
    negation, names a number above one, or distinguishes types.
    """
    goals = [[token.part for token in tokens(each.goal)] for each in found.examples]
    new = set(goal_words).difference(*goals)
    negated_or_counted = any(word in NEGATIONS | _COUNTS or word.endswith("n't") for word in new)
    return negated_or_counted or not distinctive.isdisjoint(new) or goal_words[:1] not in [goal[:1] for goal in goals]


class _Beside(NamedTuple):
    """The words before and after a value in a goal, and the articles that separate it from them.

    ``articles`` holds, for each such article, the punctuation mark on its far side, or "" if a word or the end of the
    goal is there.
    """

    before: str
    after: str
    articles: frozenset[str]


def _is_unlike_examples(found: FoundType, goal: str, slots: _Slots, parts: Sequence[str]) -> bool:
    """Return True if a value's neighbours differ from those in every example in a way that may change the value.

    Such neighbours are an article beside a text, a mark before a number, such as a sign, and another word after a
    number where ``{*}`` matches it.
    """
    known = {
        parameter.name: [
            beside
            for each in found.examples
            if isinstance(value := each.params.get(parameter.name), str | int | float)
            for beside in _beside_value(value, parameter.form, each.goal)
        ]
        for parameter in found.parameters
    }
    articles = {mark for every in known.values() for each in every for mark in each.articles}
    for parameter in (each for each in found.parameters if each.name in slots):
        new = _beside(goal, slots[parameter.name])
        if parameter.form not in NUMERIC:
            if new.articles - articles:
                return True
            continue
        same = known[parameter.name]
        if _mark(new.before) and new.before not in {each.before for each in same}:
            return True
        follows = parts.index(f"{{{parameter.name}}}") + 1
        if ANYTHING in parts[follows : follows + 1] and new.after not in {each.after for each in same}:
            return True
    return False


@lru_cache(maxsize=100_000)
def _beside_value(value: str | float, form: str, goal: str) -> tuple[_Beside, ...]:
    return tuple(_beside(goal, at) for at in spans(value, form, goal))


def _beside(goal: str, at: tuple[int, int]) -> _Beside:
    every, (begin, end) = tokens(goal), at
    before = every[begin - 1] if begin else Token("", 0, 0)
    after = every[end] if end < len(every) else Token("", len(goal), len(goal))
    gaps = ((before, goal[before.end : every[begin].begin]), (after, goal[every[end - 1].end : after.begin]))
    articles = (_mark(token.text) for token, gap in gaps if not ARTICLES.isdisjoint(re.findall(r"\w+", gap.lower())))
    return _Beside(before.text.lower(), after.text.lower(), frozenset(articles))


def _mark(token: str) -> str:
    return "" if token[:1].isalnum() else token


def _fit(parts: Sequence[str], goal_words: Sequence[str], longest: Mapping[str, int]) -> list[_Slots]:
    """Return each way in which a pattern fits all words, as its slots.

    Each tail of the pattern is fitted to each tail of the words once, in at most ``MAX_READINGS`` ways, so that the
    time grows with the product of the two lengths, not with the number of ways.
    """
    fits: dict[int, list[_Slots]] = {len(goal_words): [{}]}
    for part in reversed(parts):
        if part == ANYTHING:
            fits = _skip_words(fits, len(goal_words))
        elif part.startswith("{"):
            name, most = part[1:-1], longest.get(part[1:-1], 1)
            every = (
                (at, list(islice(_fill_slot(name, at, most, fits, goal_words), MAX_READINGS)))
                for at in range(len(goal_words))
            )
            fits = {at: ways for at, ways in every if ways}
        else:
            fits = {at: fits[at + 1] for at, word in enumerate(goal_words) if word == part and at + 1 in fits}
    return fits.get(0, [])


def _skip_words(fits: Mapping[int, list[_Slots]], end: int) -> dict[int, list[_Slots]]:
    """Return, for each word, the ways in which the rest of a pattern fits from that word or a later one."""
    skipping, ways = dict[int, list[_Slots]](), list[_Slots]()
    for at in range(end, -1, -1):
        if new := fits.get(at):
            distinct = {tuple(slots.items()): slots for slots in [*new, *ways]}
            ways = list(distinct.values())[:MAX_READINGS]
        if ways:
            skipping[at] = ways
    return skipping


def _fill_slot(
    name: str, at: int, most: int, fits: Mapping[int, list[_Slots]], goal_words: Sequence[str]
) -> Iterator[_Slots]:
    """Yield the ways in which a slot of at most ``most`` words begins at ``at``, and the rest of the pattern fits."""
    for end in range(at + 1, min(at + most, len(goal_words)) + 1):
        for slots in fits.get(end, ()):
            later_begin, later_end = slots.get(name, (at, end))
            if goal_words[later_begin:later_end] == goal_words[at:end]:
                yield {**slots, name: (at, end)}


def _max_words(found: FoundType) -> dict[str, int]:
    """Return the maximum number of words of each parameter: that in the examples, plus one if their lengths differ."""
    longest = dict[str, int]()
    for parameter in found.parameters:
        counts = {len(tokens(str(each.params.get(parameter.name, "")))) for each in found.examples}
        longest[parameter.name] = max(counts) + (len(counts) > 1)
    return longest


def _distinctive_words(types: Sequence[FoundType]) -> set[str]:
    """Return the literal words of all wordings that are not part of a known value."""
    literal = {word for each in types for wording in each.wordings for word in words(wording.literal_words)}
    known = {word for each in types for example in each.examples for word in words(str(list(example.params.values())))}
    return literal - known


# Words


def _by_words(types: Sequence[FoundType], goal: str) -> Iterator[_Reading]:
    """Yield the readings of a goal that has the words of a wording, each followed by the same slot, and known values.

    Words may have other endings and another order. A value may be split into words: ``coffee machine`` is read as
    ``coffeemachine``.
    """
    letters = _key(goal)
    for found in types:
        for wording in found.wordings:
            expected = [_stem(part) for part in wording.parts if part not in INSIGNIFICANT]
            if not all(part[0] == "{" or part in NUMBERS.values() or _key(part) in letters for part in expected):
                continue
            literal = {_key(part): ("", part) for part in wording.literal_words.split()}
            read = _parse_goal(goal, literal | _known_values(found, types, plurals=not _COUNTS.isdisjoint(expected)))
            if read is None or ANYTHING in expected:
                continue
            parts, slots = read
            if slots.keys() == {each.name for each in found.parameters} and _by_slot(parts) == _by_slot(expected):
                places = {each.name: at for each in found.parameters for at in spans(slots[each.name], each.form, goal)}
                doubtful = _is_unlike_examples(found, goal, places, wording.parts)
                yield _Reading(found, {} if doubtful else slots, len(expected) - len(slots))


def _parse_goal(goal: str, known: Mapping[str, tuple[str, str]]) -> tuple[list[str], dict[str, str]] | None:
    """Return a goal's parts, like those of a wording, and its values by slot; None if a parameter has two values."""
    rest, parts, slots = [token.part for token in tokens(goal)], list[str](), dict[str, str]()
    while rest:
        sizes = (n for n in range(MAX_WORDS, 0, -1) if all(map(_key, rest[:n])) and _key("".join(rest[:n])) in known)
        size = next(sizes, 0)
        name, value = known[_key("".join(rest[:size]))] if size else ("", rest[0])
        if name in slots:
            return None
        if name:
            slots[name] = value
        if name or value not in INSIGNIFICANT:
            parts.append(f"{{{name}}}" if name else _stem(value))
        rest = rest[size or 1 :]
    return parts, slots


def _by_slot(parts: Sequence[str]) -> list[tuple[str, str]]:
    """Return each word of a wording with the slot after it, or with the last slot if none follows."""
    pairs, slot = list[tuple[str, str]](), next((part for part in reversed(parts) if part.startswith("{")), "")
    for part in reversed(parts):
        slot = part if part.startswith("{") else slot
        pairs += [] if part.startswith("{") else [(part, slot)]
    return sorted(pairs)


def _known_values(found: FoundType, types: Sequence[FoundType], *, plurals: bool) -> dict[str, tuple[str, str]]:
    """Return parameter and value by the letters of each known value, except values that several parameters have."""
    known, names = dict[str, tuple[str, str]](), {each.name for each in found.parameters}
    ambiguous = set[str]()
    for name, value in ((n, str(v)) for each in types for example in each.examples for n, v in example.params.items()):
        for key in [_key(value)] + [_key(value) + end for end in ("s", "es") if plurals]:
            if name in names and known.setdefault(key, (name, value))[0] != name:
                ambiguous.add(key)
    return {key: pair for key, pair in known.items() if key not in ambiguous}


@lru_cache(maxsize=10_000)
def _key(value: str) -> str:
    return re.sub(r"\W|_", "", value.lower())


def _stem(word: str) -> str:
    word = NUMBERS.get(word, word)
    end = next((end for end in ("ing", "ed") if word.endswith(end) and len(word) > len(end) + 2), "")
    return word.removesuffix(end)


def _text_of(found: FoundType) -> str:
    return " ".join([found.name, found.summary, *(wording.literal_words for wording in found.wordings)])
