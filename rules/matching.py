"""Chooses the found type of a goal and fills its parameters, by learned patterns and by words; or abstains."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from pydantic import JsonValue

from planbook.planner import Match, MatchCandidate
from planbook.rules.found_types import ANYTHING, NUMBERS, parse_value, tokens
from planbook.rules.retrieval import scores, words
from planbook.rules.types import FoundType

PATTERN, WORDS = "pattern", "words"
"""What a match was made by."""
READINGS = 100
"""Number of ways to read a goal, or the rest of it, by one pattern that are looked at."""
ASKED, GOALS, VALUES = 8, 3, 12
"""Number of types that a model is asked about, and of goals and of values of a parameter that it is shown of each."""
LONGEST = 3
"""Number of words that a known value may be written as."""
UNTOLD = frozenset("and in inside into it of on onto please some them then there to".split()) | {"/", ",", ";"}
"""Words of a goal that tell no type from another; words such as "not", "or" and "from" do."""
DENYING = frozenset("not never neither nor except".split())
"""Words that turn a goal into another, beside those that end in n't."""
_COUNTS = frozenset(NUMBERS.values()) - {"zero", "one"}


_Places = Mapping[str, tuple[int, int]]
"""The first word of each slot, and the one after its last."""


class _Filled(NamedTuple):
    """A way to read a goal: a type, the words in its slots, and the number of words that its pattern names."""

    type: FoundType
    slots: Mapping[str, str]
    named: int


def match(types: Sequence[FoundType], goal: str) -> Match:
    """Return the type of a goal and its parameters where patterns or words leave no doubt; else a match of no type."""
    for by, ways in ((PATTERN, _by_pattern(types, goal)), (WORDS, _by_words(types, goal))):
        if found := _only_one(list(ways), by):
            return found
    return Match()


def candidates(types: Sequence[FoundType], goal: str) -> tuple[MatchCandidate, ...]:
    """Return the types that a model is asked about: those that share words with the goal first."""
    close = [found for _, found in _closest(types, goal)]
    nearest = [*close, *(found for found in types if found not in close)]
    return tuple(_candidate(found) for found in nearest[:ASKED])


def _candidate(found: FoundType) -> MatchCandidate:
    goals = tuple(goal for wording in found.wordings for goal in wording.goals[:1]) + found.wordings[0].goals[1:]
    params = tuple(each.name for each in found.parameters)
    had = {name: dict.fromkeys(each.params[name] for each in found.examples if name in each.params) for name in params}
    told = {name: tuple(values)[:VALUES] for name, values in had.items()}
    return MatchCandidate(name=found.name, summary=found.summary, params=params, goals=goals[:GOALS], had=told)


def _only_one(ways: list[_Filled], by: str) -> Match | None:
    """Return the way that names most words of the goal; None if there is none, or two of them differ."""
    named = max((way.named for way in ways), default=0)
    found = [
        Match(type=way.type.name, params=values, by=by)
        for way in ways
        if way.named == named and (values := parameter_values(way.type, way.slots)) is not None
    ]
    return found[0] if named and found and all(each == found[0] for each in found) else None


def parameter_values(found: FoundType, given: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return the value of each parameter, in its form; None if one is missing or has another form."""
    values = {each.name: parse_value(given.get(each.name), each.form) for each in found.parameters}
    return None if any(value in (None, "") for value in values.values()) else values


def is_doubtful(types: Sequence[FoundType], matched: Match) -> bool:
    """Return whether a value may be another word for one of an example, as ``phone`` for ``cellphone``, or a plural."""
    had = [each.params for found in types for each in found.examples]
    for name, value in matched.params.items():
        known = {str(params[name]) for params in had if name in params}
        if isinstance(value, str) and value.isalpha() and value not in known:
            alike = any(value in each or each in value for each in known if each.isalpha())
            if alike or value.endswith("s") > any(each.endswith("s") for each in known):
                return True
    return False


# Patterns


def _by_pattern(types: Sequence[FoundType], goal: str) -> Iterator[_Filled]:
    """Yield the readings of a goal that some wording fits, word for word, but for articles."""
    said = tokens(goal)
    lower = [token.text.lower() for token in said]
    telling = _telling(types)
    for found in types:
        for wording in (each for joined in found.wordings for each in joined.each):
            if ANYTHING in wording.parts and _says_more(found, lower, telling):
                continue
            named = len(wording.literal_words.split())
            for slots in _readings(wording.parts, lower, _longest(found)):
                texts = {name: goal[said[begin].begin : said[end - 1].end] for name, (begin, end) in slots.items()}
                if words(wording.literal_words) and not telling & set(words(" ".join(texts.values()))):
                    yield _Filled(found, texts, named)


def _says_more(found: FoundType, said: Sequence[str], telling: set[str]) -> bool:
    """Return whether words for ``{*}`` may make a goal another one than those of a type.

    So it is where it begins otherwise, or holds a word that they do not and that denies, or that types are told apart
    by.
    """
    goals = [[token.text.lower() for token in tokens(each.goal)] for each in found.examples]
    new = set(said).difference(*goals)
    denied = any(word in DENYING or word.endswith("n't") for word in new)
    return denied or not telling.isdisjoint(new) or said[:1] not in [goal[:1] for goal in goals]


def _readings(parts: Sequence[str], said: Sequence[str], longest: Mapping[str, int]) -> list[_Places]:
    """Return the places of the slots in each way in which a pattern fits all words.

    Every rest of the pattern is fitted with every rest of the words once, in at most ``READINGS`` ways. So the time
    grows with the product of their lengths, and not with the number of ways.
    """
    fits: dict[int, list[_Places]] = {len(said): [{}]}
    for part in reversed(parts):
        if part == ANYTHING:
            fits = _anywhere(fits, len(said))
        elif part.startswith("{"):
            name, most = part[1:-1], longest.get(part[1:-1], 1)
            places = ((at, list(islice(_in_slot(name, at, most, fits, said), READINGS))) for at in range(len(said)))
            fits = {at: ways for at, ways in places if ways}
        else:
            fits = {at: fits[at + 1] for at, word in enumerate(said) if word == part and at + 1 in fits}
    return fits.get(0, [])


def _anywhere(fits: Mapping[int, list[_Places]], end: int) -> dict[int, list[_Places]]:
    """Return the ways in which the rest of a pattern fits from some word on, for each word that this may come after."""
    found, ways = dict[int, list[_Places]](), list[_Places]()
    for at in range(end, -1, -1):
        if new := fits.get(at):
            distinct = {tuple(each.items()): each for each in [*new, *ways]}
            ways = list(distinct.values())[:READINGS]
        if ways:
            found[at] = ways
    return found


def _in_slot(
    name: str, at: int, most: int, fits: Mapping[int, list[_Places]], said: Sequence[str]
) -> Iterator[_Places]:
    """Yield the ways in which the words from ``at`` on begin with a slot of at most so many words."""
    for end in range(at + 1, min(at + most, len(said)) + 1):
        for slots in fits.get(end, ()):
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


def _telling(types: Sequence[FoundType]) -> set[str]:
    """Return the words that types are told apart by, and that are no values."""
    telling = {word for each in types for wording in each.wordings for word in words(wording.literal_words)}
    known = {word for each in types for example in each.examples for word in words(str(list(example.params.values())))}
    return telling - known


# Words


def _by_words(types: Sequence[FoundType], goal: str) -> Iterator[_Filled]:
    """Yield the readings of a goal by known values and the words of a wording, each before the value it stands before.

    Words may have other endings and another order. A value may be written apart, as ``coffee machine``.
    """
    letters = _key(goal)
    for found in types:
        for wording in found.wordings:
            said = [_stem(part) for part in wording.parts if part not in UNTOLD]
            if not all(part[0] == "{" or part in NUMBERS.values() or _key(part) in letters for part in said):
                continue
            whole = {_key(part): ("", part) for part in wording.literal_words.split()}
            read = _read(goal, whole | _known(found, types, several=not _COUNTS.isdisjoint(said)))
            named = {each.name for each in found.parameters}
            if read and read[1].keys() == named and _before(read[0]) == _before(said) and ANYTHING not in said:
                yield _Filled(found, read[1], len(said) - len(named))


def _read(goal: str, known: Mapping[str, tuple[str, str]]) -> tuple[list[str], dict[str, str]] | None:
    """Return the parts of a goal as those of a wording, and its values; None if a parameter has two."""
    said, parts, slots = [token.text.lower() for token in tokens(goal)], list[str](), dict[str, str]()
    while said:
        sizes = (n for n in range(LONGEST, 0, -1) if all(map(_key, said[:n])) and _key("".join(said[:n])) in known)
        size = next(sizes, 0)
        name, value = known[_key("".join(said[:size]))] if size else ("", said[0])
        if name in slots:
            return None
        if name:
            slots[name] = value
        if name or value not in UNTOLD:
            parts.append(f"{{{name}}}" if name else _stem(value))
        said = said[size or 1 :]
    return parts, slots


def _before(parts: Sequence[str]) -> list[tuple[str, str]]:
    """Return each word of a wording with the slot after it; after the last slot, with that before it."""
    words, slot = list[tuple[str, str]](), next((part for part in reversed(parts) if part.startswith("{")), "")
    for part in reversed(parts):
        slot = part if part.startswith("{") else slot
        words += [] if part.startswith("{") else [(part, slot)]
    return sorted(words)


def _known(found: FoundType, types: Sequence[FoundType], *, several: bool) -> dict[str, tuple[str, str]]:
    """Return the one parameter that had a value in examples, and the value, by its letters; with plurals if wanted."""
    known, names = dict[str, tuple[str, str]](), {each.name for each in found.parameters}
    doubtful = set[str]()
    for name, value in ((n, str(v)) for each in types for example in each.examples for n, v in example.params.items()):
        for key in [_key(value)] + [_key(value) + end for end in ("s", "es") if several]:
            if name in names and known.setdefault(key, (name, value))[0] != name:
                doubtful.add(key)
    return {key: each for key, each in known.items() if key not in doubtful}


@lru_cache(maxsize=10_000)
def _key(value: str) -> str:
    return re.sub(r"\W|_", "", value.lower())


def _stem(word: str) -> str:
    word = NUMBERS.get(word, word)
    end = next((end for end in ("ing", "ed") if word.endswith(end) and len(word) > len(end) + 2), "")
    return word.removesuffix(end)


def _closest(types: Sequence[FoundType], goal: str) -> list[tuple[float, FoundType]]:
    """Return the types that share words with a goal with their BM25 scores, the best first."""
    fit = zip(scores(goal, [_described(found) for found in types]), types, strict=True)
    return sorted(((score, found) for score, found in fit if score > 0), key=lambda each: -each[0])


def _described(found: FoundType) -> str:
    return " ".join([found.name, found.summary, *(wording.literal_words for wording in found.wordings)])
