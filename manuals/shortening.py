"""Shortens a manual for a reader with little room, or for one task, in a stated order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from planbook.manuals.errors import TooLong
from planbook.manuals.manual import Manual
from planbook.manuals.markdown import LeftOut, parse, render
from planbook.planner import estimate_tokens
from planbook.rules import Rule, RuleType

LEAST_IMPORTANT_FIRST: Sequence[RuleType | None] = (
    RuleType.SPECIAL_PHENOMENON,
    RuleType.SPECIAL_MECHANISM,
    RuleType.UNRESOLVED_ERROR,
    None,
    RuleType.CORRECTED_ERROR,
    RuleType.SUCCESS_PROCESS,
    RuleType.USEFUL_HELPER_METHOD,
)
"""Rule types in the order in which examples are dropped. A helper method's example is its code, so it goes last."""


def within(manual: Manual, rules: Iterable[Rule], tokens: int | None, cited: Mapping[str, int] | None = None) -> str:
    """Return the manual as Markdown in this many estimated tokens at most; None means no limit.

    Examples are dropped first: by type in the order above, within a type those of the rules that planners cited least,
    the longest first. Then introductions are dropped. The words of rules are never dropped, and each gap is marked.
    Raises TooLong if that is not enough, BadManual as ``render`` does.
    """
    kept = list(rules)
    for left_out in _views(kept, cited or {}):
        text = render(manual, kept, left_out)
        length = estimate_tokens(text)
        if tokens is None or length <= tokens:
            return text
    raise TooLong(
        f"without any example and introduction the manual still has about {length} tokens, and {tokens} are allowed: "
        "allow more, or select the rules that a task needs"
    )


def excerpt(text: str, rules: Sequence[Rule]) -> str:
    """Return what a manual says of some of its rules, given as they are to be shown. Raises BadManual."""
    manual, _ = parse(text)
    ids = {rule.id for rule in rules}
    about = [
        section.model_copy(update={"rule_ids": tuple(id for id in section.rule_ids if id in ids)})
        for section in manual.sections
    ]
    kept = tuple(section for section in about if section.rule_ids)
    return render(manual.model_copy(update={"sections": kept}), rules)


def _views(rules: Sequence[Rule], cited: Mapping[str, int]) -> Iterator[LeftOut]:
    """Yield views from the whole manual to the shortest."""
    ids = [rule.id for rule in sorted(rules, key=lambda rule: _importance(rule, cited)) if rule.example]
    for count in range(len(ids) + 1):
        yield LeftOut(frozenset(ids[:count]))
    yield LeftOut(frozenset(ids), introductions=True)


def _importance(rule: Rule, cited: Mapping[str, int]) -> tuple[int, int, int]:
    return LEAST_IMPORTANT_FIRST.index(rule.type), cited.get(rule.id, 0), -len(rule.example)
