"""Find the goal that a line of a plan means if the line is a phrase or a faulty call, such as "mine 3 logs".

Whole words are compared. The line must contain the verb of the goal (``mine``) or an everyday synonym, followed by the
goal's object (``log``). The first number after the verb becomes the count of the goal. A line that may mean goals
with different objects matches none of them. The planner is then told that the line names no goal.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import JsonValue

from planbook.envs import Action, Goals

MIN_SHARE = 0.6
"""A line matches a goal only if at least this share of the line's words belong to the goal."""
MAX_LINE = 200
"""Maximum number of characters of a line that are compared."""
COUNTS = range(1, 10_000)
NO_MATCH = (0, 0.0)
_SYNONYMS = {
    "build": "craft", "chop": "mine", "dig": "mine", "make": "craft", "move": "place", "place": "put", "put": "place",
    "stack": "place", "take": "pick",
}  # fmt: skip
"""Maps everyday verbs to words in goals' verbs. A synonym counts only if no goal has the everyday verb itself."""
_BEFORE_MATERIALS = frozenset({"from", "using", "with"})
"""Words after which a number counts materials, and not the goal's object."""
_FILLERS = frozenset(
    "a an the some more up agent none null step tool num number count amount quantity obj object item material "
    "hand bare target place it time from of with without using for out in on at by to into onto under via and "
    "then".split()
)
"""Words that are ignored, since they name nothing."""
_TOKEN = re.compile(r"([a-z]+\d*)(?:[ _](\d+)(?![a-z\d]))?|(\d+)")
"""Matches a word with the number after it, as in "drawer 3", or another number."""
_NAME = re.compile(r"[a-z]+\d*(?:_\d+(?![a-z\d]))?")
_LEADING_NUMBER = re.compile(r"\s*(\d+)\s")
Name = frozenset[str]
"""The words of a name. For example, the name "wooden_pickaxe" has the words "wooden" and "pickaxe"."""


class _KnownGoal(NamedTuple):
    """A goal that the environment lists, with the names in its arguments."""

    action: Action
    objects: Sequence[Name]
    """Names of the goal's object. A line must contain one of these names."""
    needed: Name
    """The words in the other required arguments. A line must contain all of them."""
    names: Sequence[Name]
    """All names in the arguments, including optional ones, which a line need not contain."""


class GoalMatcher:
    """Finds the known goal of an environment that a line means."""

    def __init__(self, goals: Goals) -> None:
        self._goals = goals
        self._known: dict[str, list[_KnownGoal]] = {}
        for action in (goal for goal in goals.list_goals() if goal.args):  # a line can match only a goal with an object
            self._known.setdefault(action.name, []).append(self._known_goal(action))
        self._words = Name().union(*(name for goals in self._known.values() for goal in goals for name in goal.names))

    def match(self, text: str) -> Action | None:
        """Return the goal that a text means, or None if none matches.

        The best match counts (see ``_rank``). Of several equal matches with the same object, the first counts.
        """
        words, numbers = self._words_and_numbers(text[:MAX_LINE].partition("#")[0].lower())
        verb, after_verb = self._verb(words)
        if not after_verb:
            return None
        ranks = [(self._rank(goal, after_verb), goal) for goal in self._known[verb]]
        best_rank = max(rank for rank, _ in ranks)
        best = [goal for rank, goal in ranks if rank == best_rank]
        if best_rank == NO_MATCH or any(goal.objects[0] != best[0].objects[0] for goal in best):
            return None
        return self._with_count(best[0].action, numbers[0] if numbers else None)

    def _known_goal(self, action: Action) -> _KnownGoal:
        """Return a goal with the names in its arguments."""
        parameters = list(self._goals.specs[action.name].signature.parameters.values())
        pairs = list(zip(parameters, action.args, strict=False))[1:]
        needed = [pair for pair in pairs if isinstance(pair[1], str) and pair[0].default is pair[0].empty]
        aliases = [name for alias in self._goals.aliases(action) for name in _names(alias)]
        objects = [*_names(action.args[0]), *aliases]
        needed_words = Name().union(*(name for _, argument in needed for name in _names(argument)))
        other_names = [name for argument in action.args[1:] for name in _names(argument)]
        return _KnownGoal(action, objects, needed_words, [*objects, *other_names])

    def _words_and_numbers(self, line: str) -> tuple[list[str], list[int]]:
        """Return the words of a line, and the numbers between its verb and the first of ``_BEFORE_MATERIALS``.

        A number that belongs to a name, as in "drawer 3", is part of its word.
        """
        words: list[str] = []
        numbers: list[int] = []
        for word, index, number in _TOKEN.findall(re.sub(r"\bx(?=\d)", "", line)):  # "x3" is a count
            is_name = f"{word}_{index}" in self._words
            if word:
                words.append(f"{word}_{index}" if is_name else _singular(word))
            after_verb = any(self._verbs_with(word) for word in words)
            if (index or number) and not is_name and after_verb and _BEFORE_MATERIALS.isdisjoint(words):
                numbers.append(int(index or number))
        return words, numbers

    def _verb(self, words: Sequence[str]) -> tuple[str, Sequence[str]]:
        """Find the first word that is in exactly one verb of the environment's goals.

        Return this verb and the words after it without fillers. If there is no such word, return "" and no words.
        """
        for index, word in enumerate(words):
            if len(verbs := self._verbs_with(word)) == 1:
                ignored = _FILLERS.union(verbs[0].split("_"))
                return verbs[0], [later for later in words[index + 1 :] if later not in ignored]
        return "", ()

    def _verbs_with(self, word: str) -> list[str]:
        """Return the verbs of goals that contain a word or, if there is none, its synonym."""
        same = [verb for verb in self._known if word in verb.split("_")]
        return same or [verb for verb in self._known if _SYNONYMS.get(word) in verb.split("_")]

    def _rank(self, goal: _KnownGoal, words: Sequence[str]) -> tuple[int, float]:
        """Return how well a goal matches ``words``, the words of a line after the verb, or ``NO_MATCH``.

        The rank is the number of words in the object with which ``words`` begins, and the share of the goal's names
        that ``words`` contains.
        """
        line_words, goal_words = set(words), Name().union(*goal.names)
        length = max((len(name) for name in goal.objects if name == set(words[: len(name)])), default=0)
        other_words = line_words - goal_words
        has_enough = 1 + len(line_words) - len(other_words) >= MIN_SHARE * (1 + len(line_words))  # the verb counts, too
        if not length or not goal.needed <= line_words or not other_words.isdisjoint(self._words) or not has_enough:
            return NO_MATCH
        return length, sum(name <= line_words for name in goal.names) / len(goal.names)

    def _with_count(self, action: Action, count: int | None) -> Action | None:
        """Return the goal with this count, or None if the goal cannot have it."""
        if count is None:
            return action
        goal = self._goals.with_count(action, count) if count in COUNTS else action
        return goal if _count(goal) >= count > 0 else None


def _names(argument: JsonValue) -> list[Name]:
    """Return the names in an argument of a goal. Counts are left out."""
    texts = argument.split(",") if isinstance(argument, str) else argument if isinstance(argument, dict) else ()
    words = [map(_singular, _NAME.findall(text)) for text in texts]
    names = [frozenset(name) - _FILLERS for name in words]
    return [name for name in names if name]


def _count(goal: Action) -> int:
    """Return the count of a goal's object, or 1 if the goal has no count."""
    argument = goal.args[0]
    if isinstance(argument, dict):
        return next((count for count in argument.values() if isinstance(count, int)), 1)
    match = _LEADING_NUMBER.match(str(argument))
    return int(match[1]) if match else 1


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
