"""A manual for a reader with little room, or with one task: what is left out, and in which order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from planbook.manuals.errors import TooLong
from planbook.manuals.manual import Manual
from planbook.manuals.markdown import LeftOut, parse, render
from planbook.planner.models.tokens import estimate_tokens
from planbook.rules.types import Rule, RuleType

LEAST_IMPORTANT_FIRST: Sequence[RuleType | None] = (
    RuleType.SPECIAL_PHENOMENON,
    RuleType.SPECIAL_MECHANISM,
    RuleType.UNRESOLVED_ERROR,
    None,
    RuleType.CORRECTED_ERROR,
    RuleType.SUCCESS_PROCESS,
    RuleType.USEFUL_HELPER_METHOD,
)
"""Whose examples can be spared first. A helper method's example is its code, so that it goes last."""


def within(manual: Manual, rules: Iterable[Rule], tokens: int | None, cited: Mapping[str, int] | None = None) -> str:
    """The manual as Markdown in at most so many tokens, by estimate; None sets no limit.

    If it is too long, examples are left out one after the other: by type as listed above, and within a type those of
    the rules that planners cited least, the longest first. Then the introductions are. What a rule says is never left
    out, and each place says what is missing. Raises TooLong if that is not enough, BadManual as ``render`` does.
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
    """From the whole manual to the shortest view."""
    ids = [rule.id for rule in sorted(rules, key=lambda rule: _importance(rule, cited)) if rule.example]
    for count in range(len(ids) + 1):
        yield LeftOut(frozenset(ids[:count]))
    yield LeftOut(frozenset(ids), introductions=True)


def _importance(rule: Rule, cited: Mapping[str, int]) -> tuple[int, int, int]:
    return LEAST_IMPORTANT_FIRST.index(rule.type), cited.get(rule.id, 0), -len(rule.example)
