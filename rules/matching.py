"""Chooses the found type of a goal and fills its parameters, by learned patterns and by words; or abstains."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from pydantic import JsonValue

from planbook.planner import Match, MatchCandidate
from planbook.rules.found_types import ANYTHING, says, tokens
from planbook.rules.retrieval import CLEARLY, scores, words
from planbook.rules.types import FoundType, TypeParameter

PATTERN, WORDS = "pattern", "words"
"""What a match was made by."""
READINGS = 100
"""Number of ways to read a goal by one pattern that are looked at."""
ASKED, GOALS = 8, 3
"""Number of types that a model is asked about, and of goals that it is shown of each."""


class _Filled(NamedTuple):
    """A way to read a goal: a type, the words in its slots, and the number of words that its pattern names."""

    type: FoundType
    slots: Mapping[str, str]
    named: int


def match(types: Sequence[FoundType], goal: str) -> Match:
    """Return the type of a goal and its parameters where patterns or words leave no doubt."""
    for by, ways in ((PATTERN, _by_pattern(types, goal)), (WORDS, _by_words(types, goal))):
        if found := _only_one(list(ways), by):
            return found
    return Match(candidates=tuple(_candidate(found) for found in _nearest(types, goal)))


def _nearest(types: Sequence[FoundType], goal: str) -> list[FoundType]:
    """Return the types that a model is asked about: those that share words with the goal first."""
    close = [found for _, found in _closest(types, goal)]
    return [*close, *(found for found in types if found not in close)][:ASKED]


def _candidate(found: FoundType) -> MatchCandidate:
    goals = tuple(goal for wording in found.wordings for goal in wording.goals[:1]) + found.wordings[0].goals[1:]
    params = tuple(each.name for each in found.parameters)
    return MatchCandidate(name=found.name, summary=found.summary, params=params, goals=goals[:GOALS])


def _only_one(ways: list[_Filled], by: str) -> Match | None:
    """Return the way that names most words of the goal; None if there is none, or two of them differ."""
    named = max((way.named for way in ways), default=0)
    found = [
        Match(type=way.type.name, params=values, by=by)
        for way in ways
        if way.named == named and (values := _values(way.type, way.slots)) is not None
    ]
    return found[0] if named and found and all(each == found[0] for each in found) else None


def _values(found: FoundType, slots: Mapping[str, str]) -> dict[str, JsonValue] | None:
    """Return the value of each parameter; None if one is missing or has another form."""
    values = {each.name: says(slots.get(each.name, ""), each.form) for each in found.parameters}
    return None if any(value in (None, "") for value in values.values()) else values


# Patterns


def _by_pattern(types: Sequence[FoundType], goal: str) -> Iterator[_Filled]:
    """Yield the readings of a goal that some wording fits, word for word, but for articles."""
    said = tokens(goal)
    lower = [token.text.lower() for token in said]
    for found in types:
        for wording in found.wordings:
            named = len(wording.said.split())
            for slots in islice(_fits(wording.parts, lower, 0, _longest(found)), READINGS):
                texts = {name: goal[said[begin].begin : said[end - 1].end] for name, (begin, end) in slots.items()}
                if words(wording.said) and _may_be(found, texts, types):
                    yield _Filled(found, texts, named)


def _fits(
    parts: Sequence[str], said: Sequence[str], at: int, longest: Mapping[str, int]
) -> Iterator[dict[str, tuple[int, int]]]:
    """Yield the places of the slots in each way in which the parts of a pattern fit the words from ``at`` on."""
    if not parts:
        if at == len(said):
            yield {}
        return
    part, *rest = parts
    if not part.startswith("{"):
        if at < len(said) and said[at] == part:
            yield from _fits(rest, said, at + 1, longest)
        return
    if part == ANYTHING:
        for end in range(at, len(said) + 1):
            yield from _fits(rest, said, end, longest)
        return
    name = part[1:-1]
    for end in range(at + 1, min(at + longest.get(name, 1), len(said)) + 1):
        for slots in _fits(rest, said, end, longest):
            before = slots.get(name, (at, end))
            if said[before[0] : before[1]] == said[at:end]:
                yield {**slots, name: (at, end)}


def _longest(found: FoundType) -> dict[str, int]:
    """Return the number of words that each parameter may have: as many as in an example; one more where they differ."""
    longest = dict[str, int]()
    for parameter in found.parameters:
        counts = {len(tokens(str(each.params.get(parameter.name, "")))) for each in found.examples} or {1}
        longest[parameter.name] = max(counts) + (len(counts) > 1)
    return longest


def _may_be(found: FoundType, slots: Mapping[str, str], types: Sequence[FoundType]) -> bool:
    """Return whether the words in the slots are values, and not words that other types are told apart by."""
    telling = {word for each in types for wording in each.wordings for word in words(wording.said)}
    known = {word for each in types for example in each.examples for word in words(str(list(example.params.values())))}
    return not any(word in telling - known for text in slots.values() for word in words(text))


# Words


def _by_words(types: Sequence[FoundType], goal: str) -> Iterator[_Filled]:
    """Yield the reading of a goal that has all words of a wording and besides them known values alone."""
    (best, found), (next_best, _), *_ = [*_closest(types, goal), (0.0, None), (0.0, None)]
    if found is None or best <= next_best * CLEARLY:
        return
    asked = list(dict.fromkeys(words(goal)))
    for wording in found.wordings:
        named = set(words(wording.said))
        slots = _assigned(found.parameters, [word for word in asked if word not in named], types)
        if named and named <= set(asked) and slots is not None:
            yield _Filled(found, slots, len(named))


def _assigned(
    parameters: Sequence[TypeParameter], left: Sequence[str], types: Sequence[FoundType]
) -> dict[str, str] | None:
    """Return the words as values, each of the one parameter that is known to have it; None if they do not fit."""
    slots = dict[str, str]()
    for word in left:
        names = {each.name for each in parameters} & _known_as(word, types)
        if len(names) != 1 or names & slots.keys():
            return None
        slots[names.pop()] = word
    return slots if len(slots) == len(parameters) else None


def _known_as(word: str, types: Sequence[FoundType]) -> set[str]:
    """Return the names of the parameters that had this value in an example."""
    params = (example.params for found in types for example in found.examples)
    return {name for each in params for name, value in each.items() if str(value).lower() == word}


def _closest(types: Sequence[FoundType], goal: str) -> list[tuple[float, FoundType]]:
    """Return the types that share words with a goal with their BM25 scores, the best first."""
    fit = zip(scores(goal, [_described(found) for found in types]), types, strict=True)
    return sorted(((score, found) for score, found in fit if score > 0), key=lambda each: -each[0])


def _described(found: FoundType) -> str:
    return " ".join([found.name, found.summary, *(wording.said for wording in found.wordings)])
