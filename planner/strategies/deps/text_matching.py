"""Find the goal that a line of a plan means if the line is a phrase or a faulty call, such as "mine 3 logs".

Whole words are compared. The line must contain the verb of the goal (``mine``) or a synonym, and name the goal's object
(``log``). A count in the line becomes the count of the goal. A line that may mean several goals matches none of them.
The planner is then told that the line names no goal.
"""

import re
from collections.abc import Iterator, Sequence, Set
from difflib import SequenceMatcher
from typing import NamedTuple

from pydantic import JsonValue

from planbook.envs import Action, Goals

MIN_SHARE = 0.6
"""A line matches a goal only if at least this share of the line's words belong to the goal."""
MAX_LINE = 200
"""Maximum number of characters of a line that are compared."""
COUNTS = range(1, 10_000)
_TYPO = 0.8
"""A word may be a misspelling of a known word if their similarity (see ``_similarity``) is greater than this."""
_SYNONYMS = tuple(
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
"""Groups of verbs with the same meaning. A word that fits the verbs of two goals of an environment matches neither."""
_PREPOSITIONS = frozenset("from of with without using for out in on at by to into onto under via and then".split())
"""Words after which a line no longer names the goal's object, but for example a tool or a place."""
_FILLERS = frozenset(
    "a an the some more up agent none null step tool num number count amount quantity obj object item material "
    "hand bare target place it time".split()
)
_TOKEN = re.compile(r"[a-z]+\d*|\d+|[,;]")
_NAME = re.compile(r"[a-z]+\d*(?:_\d+(?![a-z\d]))?")
_LEADING_NUMBER = re.compile(r"\s*(\d+)\s")
Name = frozenset[str]
"""The words of a name. For example, the name "wooden_pickaxe" has the words "wooden" and "pickaxe"."""


class _Item(NamedTuple):
    """A word in a line."""

    word: str
    number: int | None
    """The number that follows the word, as in "drawer 3", or None."""
    part: int
    """Index of the part of the line that holds the word. Commas, semicolons and prepositions separate the parts."""


class _KnownGoal(NamedTuple):
    """A goal that the environment lists, with the names in its arguments."""

    action: Action
    objects: Sequence[Name]
    """Names of the goal's object. A line must contain one of these names."""
    needed: Sequence[Name]
    """Names in the other required arguments. A line must contain all of these names."""
    optional: Sequence[Name]
    """Names that a line may contain, but need not."""


class _Line(NamedTuple):
    """The words and numbers that follow the verb in a line."""

    items: Sequence[_Item]
    numbers: Sequence[tuple[int, int]]
    """All numbers, each with the index of the part of the line that holds it."""


class GoalMatcher:
    """Finds the known goal of an environment that a line means."""

    def __init__(self, goals: Goals) -> None:
        self._goals = goals
        self._known: dict[str, list[_KnownGoal]] = {}
        for action in (goal for goal in goals.known() if goal.args):  # a line names the object of its goal
            self._known.setdefault(action.name, []).append(self._read(action))
        self._words: dict[str, set[str]] = {}
        for known in (goal for goals_of_verb in self._known.values() for goal in goals_of_verb):
            for word in (word for name in (*known.objects, *known.needed, *known.optional) for word in name):
                self._words.setdefault(word[0], set()).add(word.partition("_")[0])

    def nearest(self, text: str) -> Action | None:
        """Return the goal that a text means, or None if none matches. Of several, the best counts."""
        verb, tokens = self._verb(_TOKEN.findall(text[:MAX_LINE].partition("#")[0].lower()))
        line = self._line(tokens, verb.split("_"))
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
        """Return a goal with the names in its arguments."""
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

    def _verb(self, tokens: Sequence[str]) -> tuple[str, Sequence[str]]:
        """Find the first word that stands for exactly one verb of the environment's goals.

        Return this verb and the tokens after the word. If there is no such word, return "" and no tokens.
        """
        for index, token in enumerate(tokens):
            if len(verbs := self._verbs(token, is_first=index == 0 or tokens[:index] == ["agent"])) == 1:
                return verbs[0], tokens[index + 1 :]
        return "", ()

    def _verbs(self, word: str, is_first: bool) -> list[str]:
        """Return the goals' verbs that a word may stand for.

        These are the verbs that contain the word. If there are none, these are the verbs that contain a synonym of the
        word. If there are still none, and the word is the first word of its line, these are the verbs of which the word
        may be a misspelling.
        """
        names = {name: name.split("_") for name in self._known}
        synonyms = {verb for group in _SYNONYMS if word in group for verb in group}
        return (
            [name for name, words in names.items() if word in words]
            or [name for name, words in names.items() if not synonyms.isdisjoint(words)]
            or [name for name, words in names.items() if is_first and any(_similarity(word, w) > _TYPO for w in words)]
        )

    def _line(self, tokens: Sequence[str], verb: Sequence[str]) -> _Line:
        """Return the words and numbers among the tokens after the verb."""
        items: list[_Item] = []
        numbers: list[tuple[int, int]] = []
        part = 0
        for token, next_token in zip(tokens, (*tokens[1:], ""), strict=False):
            if token in ",;" or token in _PREPOSITIONS:
                part += 1
            elif token.isdecimal():
                numbers.append((int(token), part))
            elif _singular(token) not in _FILLERS and token not in verb:
                word = self._correct_spelling(_singular(token))
                items.append(_Item(word, int(next_token) if next_token.isdecimal() else None, part))
        return _Line(items, numbers)

    def _correct_spelling(self, word: str) -> str:
        """Return the known word of which the word may be a misspelling, or the word itself if there is none."""
        known = self._words.get(word[0], set())
        if word in known:
            return word
        ranked = [(ratio, similar) for similar in sorted(known) if (ratio := _similarity(word, similar)) > _TYPO]
        return max(ranked)[1] if ranked else word

    def _match(self, known: _KnownGoal, line: _Line, objects: Set[Name]) -> tuple[Action | None, tuple[float, ...]]:
        """Return the goal with the count in the line, and the rank of the match. The highest rank counts.

        Return None and an empty rank if the line does not match the goal. ``objects`` are the names of the objects of
        all goals with the same verb.
        """
        line_words = {form for item in line.items for form in _forms(item)}
        named = [name for name in known.objects if name <= line_words]
        if not named or not all(name <= line_words for name in known.needed):
            return None, ()
        words = frozenset[str]().union(*named, *known.needed, *(name for name in known.optional if name <= line_words))
        unmatched = [item for item in line.items if words.isdisjoint(_forms(item))]
        first_part = [item for item in line.items if item.part == line.items[0].part]
        first_words = {form for item in first_part for form in _forms(item)} & words
        subjects = [name for name in named if name <= first_words or first_words <= name]
        unknown = {item.word for item in unmatched}
        is_ambiguous = any(name <= unknown for name in objects)
        if not subjects or is_ambiguous or not unknown.isdisjoint(item.word for item in first_part):
            return None, ()
        subject = max(subjects, key=lambda name: len(name & first_words))
        indices = [next(n for n, item in enumerate(line.items) if word in _forms(item)) for word in subject]
        action = self._with_count(known.action, line, words, {line.items[index].part for index in indices})
        if action is None:
            return None, ()
        share = (1 + len(line.items) - len(unmatched)) / (1 + len(line.items))
        missing = [name for name in (known.objects[0], *known.optional) if not name <= line_words]
        counts = {number for number, _ in line.numbers} & set(_numbers(action))
        return action, (share, len(subject & first_words), -max(indices), -len(missing), len(counts))

    def _with_count(self, action: Action, line: _Line, words: Name, parts: Set[int]) -> Action | None:
        """Return the goal with the count in the line, or None if the goal cannot have this count or it is ambiguous.

        ``words`` are the words of the goal's names in the line. ``parts`` are the indices of the parts of the line that
        hold the goal's object.
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
    """Return the forms in which a word may occur in a name: alone, or with the number after it (``drawer_3``)."""
    return (item.word,) if item.number is None else (item.word, f"{item.word}_{item.number}")


def _names(argument: JsonValue) -> list[Name]:
    """Return the names in an argument of a goal. Counts are left out."""
    texts = argument.split(",") if isinstance(argument, str) else argument if isinstance(argument, dict) else ()
    words = [map(_singular, _NAME.findall(text)) for text in texts]
    names = [frozenset(name) - _FILLERS - _PREPOSITIONS for name in words]
    return [name for name in names if name]


def _numbers(action: Action) -> Iterator[int]:
    """Yield all counts of a goal. The count of its object comes first."""
    for argument in action.args:
        if isinstance(argument, dict):
            yield from (count for count in argument.values() if isinstance(count, int))
        elif isinstance(argument, str):
            yield from (int(match[1]) for part in argument.split(",") if (match := _LEADING_NUMBER.match(part)))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _similarity(word: str, known: str) -> float:
    """Return the similarity of two words, from 0 to 1. It is 1 if they have the same letters, in any order.

    It is 0 if their first letters differ, if their lengths differ by more than 2, or if one has fewer than 3 letters.
    """
    if min(len(word), len(known)) < 3 or word[0] != known[0] or abs(len(word) - len(known)) > 2:
        return 0
    if sorted(word) == sorted(known):
        return 1
    matcher = SequenceMatcher(None, word, known, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() > _TYPO else 0
