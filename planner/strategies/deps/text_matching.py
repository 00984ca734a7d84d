"""Map a plan line that is a phrase or a faulty call to the known goal that it means.

Whole words are compared. The line must contain the goal's verb and name its object; counts are carried over. An
ambiguous line matches nothing, so its author is asked again.
"""

import re
from collections.abc import Iterator, Sequence, Set
from difflib import SequenceMatcher
from typing import NamedTuple

from pydantic import JsonValue

from planbook.envs import Action, Goals

MIN_SHARE = 0.6
"""Minimum share of a line's words that belong to the goal."""
MAX_LINE = 200
"""Maximum number of characters of a line that are compared."""
COUNTS = range(1, 10_000)
_TYPO = 0.8
"""Minimum similarity of a misspelled word; transposed letters always match."""
_ALIASES = tuple(
    frozenset(words.split())
    for words in (
        "mine dig chop harvest gather collect cut break",
        "kill slay hunt slaughter attack",
        "craft make build create construct",
        "smelt cook melt bake roast",
        "equip wear",
        "get obtain fetch take gather collect acquire grab",
        "pick take grab get fetch",
        "put place insert move set lay stack pack",
        "find search locate seek",
        "clean wash rinse",
        "heat warm microwave cook",
        "cool chill refrigerate",
        "use toggle turn switch",
    )
)
"""Synonyms of verbs. A verb that fits two goals of an environment matches neither."""
_PREPOSITIONS = frozenset("from of with without using for out in on at by to into onto under via and then".split())
"""Words after which a line names something other than the object."""
_FILLERS = frozenset(
    "a an the some more up agent none null step tool num number count amount quantity obj object item material "
    "hand bare target place it time".split()
)
_PART = re.compile(r"[a-z]+\d*|\d+|[,;]")
_NAME = re.compile(r"[a-z]+\d*(?:_\d+(?![a-z\d]))?")
_LEADING_NUMBER = re.compile(r"\s*(\d+)\s")
Name = frozenset[str]


class _Item(NamedTuple):
    """A word of a line, the number right after it, and its part of the line."""

    word: str
    number: int | None
    part: int


class _KnownGoal(NamedTuple):
    """The names in a goal. A line must contain one of its ``objects`` and all ``needed`` names."""

    action: Action
    objects: Sequence[Name]
    needed: Sequence[Name]
    others: Sequence[Name]


class _Line(NamedTuple):
    """The rest of a line after its verb: the words, and all numbers with their part of the line."""

    items: Sequence[_Item]
    numbers: Sequence[tuple[int, int]]


class GoalMatcher:
    """Matches lines with the known goals of an environment."""

    def __init__(self, goals: Goals) -> None:
        self._goals = goals
        self._known: dict[str, list[_KnownGoal]] = {}
        for action in (goal for goal in goals.known() if goal.args):  # a line names the object of its goal
            self._known.setdefault(action.name, []).append(self._read(action))
        self._words: dict[str, set[str]] = {}
        for known in (goal for goals_of_verb in self._known.values() for goal in goals_of_verb):
            for word in (word for name in (*known.objects, *known.needed, *known.others) for word in name):
                self._words.setdefault(word[0], set()).add(word.partition("_")[0])

    def nearest(self, text: str) -> Action | None:
        """Return the goal that a text means, the first if several match equally; None if none matches."""
        verb, parts = self._verb(_PART.findall(text[:MAX_LINE].partition("#")[0].lower()))
        line = self._line(parts, verb.split("_"))
        if not verb or not line.items:
            return None
        best_rank: tuple[float, ...] = (MIN_SHARE,)
        best: Action | None = None
        objects = {name for known in self._known[verb] for name in known.objects}
        for known in self._known[verb]:
            action, rank = self._match(known, line, objects)
            if action and rank > best_rank:
                best_rank, best = rank, action
        return best

    def _read(self, action: Action) -> _KnownGoal:
        parameters = list(self._goals.specs[action.name].signature.parameters.values())
        pairs = list(zip(parameters, action.args, strict=False))[1:]
        needed = [pair for pair in pairs if isinstance(pair[1], str) and pair[0].default is pair[0].empty]
        sources = [name for source in self._goals.names(action) for name in _names(source)]
        return _KnownGoal(
            action,
            [*_names(action.args[0]), *sources],
            [name for _, argument in needed for name in _names(argument)],
            [*(name for pair in pairs if pair not in needed for name in _names(pair[1])), *sources],
        )

    def _verb(self, parts: Sequence[str]) -> tuple[str, Sequence[str]]:
        """Return the first word that is the verb of exactly one goal, and the parts after it."""
        for index, part in enumerate(parts):
            if len(verbs := self._verbs(part, first=index == 0 or parts[:index] == ["agent"])) == 1:
                return verbs[0], parts[index + 1 :]
        return "", ()

    def _verbs(self, word: str, first: bool) -> list[str]:
        """Return the goals whose verb is a word: by name, by a synonym, or by a misspelling."""
        names = {name: name.split("_") for name in self._known}
        synonyms = {other for alias in _ALIASES if word in alias for other in alias}
        return (
            [name for name, words in names.items() if word in words]
            or [name for name, words in names.items() if not synonyms.isdisjoint(words)]
            or [name for name, words in names.items() if first and any(_similarity(word, one) > _TYPO for one in words)]
        )

    def _line(self, parts: Sequence[str], verb: Sequence[str]) -> _Line:
        items: list[_Item] = []
        numbers: list[tuple[int, int]] = []
        place = 0
        for part, after in zip(parts, (*parts[1:], ""), strict=False):
            if part in ",;" or part in _PREPOSITIONS:
                place += 1
            elif part.isdecimal():
                numbers.append((int(part), place))
            elif _singular(part) not in _FILLERS and part not in verb:
                word = self._correct_spelling(_singular(part))
                items.append(_Item(word, int(after) if after.isdecimal() else None, place))
        return _Line(items, numbers)

    def _correct_spelling(self, word: str) -> str:
        """Return the most similar known word, if the word is a misspelling."""
        known = self._words.get(word[0], set())
        if word in known:
            return word
        ranked = [(ratio, other) for other in sorted(known) if (ratio := _similarity(word, other)) > _TYPO]
        return max(ranked)[1] if ranked else word

    def _match(self, known: _KnownGoal, line: _Line, objects: Set[Name]) -> tuple[Action | None, tuple[float, ...]]:
        """Return the goal with the line's count, and the rank of the match; None if it does not match."""
        line_words = {form for item in line.items for form in _forms(item)}
        named = [name for name in known.objects if name <= line_words]
        if not named or not all(name <= line_words for name in known.needed):
            return None, ()
        words = frozenset[str]().union(*named, *known.needed, *(name for name in known.others if name <= line_words))
        left = [item for item in line.items if words.isdisjoint(_forms(item))]
        first_part = [item for item in line.items if item.part == line.items[0].part]
        heading = {form for item in first_part for form in _forms(item)} & words
        subjects = [name for name in named if name <= heading or heading <= name]
        unknown = {item.word for item in left}
        is_ambiguous = any(name <= unknown for name in objects)
        if not subjects or is_ambiguous or not unknown.isdisjoint(item.word for item in first_part):
            return None, ()
        subject = max(subjects, key=lambda name: len(name & heading))
        places = [next(n for n, item in enumerate(line.items) if word in _forms(item)) for word in subject]
        action = self._with_count(known.action, line, words, {line.items[place].part for place in places})
        if action is None:
            return None, ()
        share = (1 + len(line.items) - len(left)) / (1 + len(line.items))
        missing = [name for name in (known.objects[0], *known.others) if not name <= line_words]
        counts = {number for number, _ in line.numbers} & set(_numbers(action))
        return action, (share, len(subject & heading), -max(places), -len(missing), len(counts))

    def _with_count(self, action: Action, line: _Line, words: Name, parts: Set[int]) -> Action | None:
        """Return the goal with the line's count; None if that is impossible or ambiguous.

        ``words`` are those of the goal's names, ``parts`` the parts of the line that hold its object.
        """
        numbers = list(line.numbers)
        for item in line.items:
            if item.number is not None and f"{item.word}_{item.number}" in words:
                numbers.remove((item.number, item.part))
        adjacent = {part + step for part in parts for step in (-1, 1)} - {item.part for item in line.items}
        counts = [number for number, part in numbers if part in parts]
        counts = counts or [number for number, part in numbers if part in adjacent]
        if not counts:
            return action if {number for number, _ in numbers} <= {1, *_numbers(action)} else None
        if len(counts) > 1 or counts[0] not in COUNTS:
            return None
        goal = self._goals.times(action, counts[0])
        return goal if next(_numbers(goal), 1) >= counts[0] else None


def _forms(item: _Item) -> Sequence[str]:
    """Return the forms in which a word may be part of a name: alone, or with its number, as in drawer 3."""
    return (item.word,) if item.number is None else (item.word, f"{item.word}_{item.number}")


def _names(argument: JsonValue) -> list[Name]:
    """Return the names in an argument of a goal, without counts."""
    texts = argument.split(",") if isinstance(argument, str) else argument if isinstance(argument, dict) else ()
    words = [map(_singular, _NAME.findall(text)) for text in texts]
    names = [frozenset(name) - _FILLERS - _PREPOSITIONS for name in words]
    return [name for name in names if name]


def _numbers(action: Action) -> Iterator[int]:
    """Return all counts of a goal, its object's first."""
    for argument in action.args:
        if isinstance(argument, dict):
            yield from (count for count in argument.values() if isinstance(count, int))
        elif isinstance(argument, str):
            yield from (int(match[1]) for part in argument.split(",") if (match := _LEADING_NUMBER.match(part)))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _similarity(word: str, known: str) -> float:
    """Return the similarity of two words, 0 to 1. A misspelling keeps the first letter and about the length."""
    if min(len(word), len(known)) < 3 or word[0] != known[0] or abs(len(word) - len(known)) > 2:
        return 0
    if sorted(word) == sorted(known):
        return 1
    matcher = SequenceMatcher(None, word, known, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() > _TYPO else 0
