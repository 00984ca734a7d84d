"""Turn comparisons of runs into tables and sentences, for the terminal and the report."""

from collections.abc import Iterator, Mapping
from string import ascii_uppercase

from planbook.compare import ChangedPair, RunComparison
from planbook.compare.differences import MCNEMAR, SIGNIFICANCE, Difference, SolvedDifference, format_points
from planbook.compare.settings import UNSET, abridged
from planbook.planner import Grid
from planbook.results.learning_cost import payoff_table
from planbook.results.statistics import MIN_TASKS, Estimate
from planbook.wording import NO_FIGURE, format_number, in_words, listed

MAX_CHANGES, MAX_NAMES = 8, 5
"""Maximum numbers of changed pairs and of names in a sentence. The JSON output has all of them."""
MIN_SHOWN_P = 0.001
"""A smaller p value is shown as "< 0.001"."""

Letters = tuple[str, str]
"""The letters of the first and the second run."""


def run_letter(number: int) -> str:
    """Return the letter by which tables name a run: A for number 0, and so on; after Z, "run 27"."""
    return ascii_uppercase[number] if number < len(ascii_uppercase) else f"run {number + 1}"


def comparison_parts(comparisons: Mapping[str, RunComparison], first_letter: str) -> Iterator[Grid | str]:
    """Yield sentences and tables that compare one run with others, and explain how the figures were computed.

    ``first_letter`` is the letter of the first run. ``comparisons`` is keyed by the letters of the others.
    """
    for letter, compared in comparisons.items():
        yield from _parts_of_comparison(compared, (first_letter, letter))
    if overall := [compared.overall for compared in comparisons.values()]:
        tests, intervals = dict.fromkeys(row.test for row in overall), dict.fromkeys(row.interval for row in overall)
        yield (
            f"Test: {' or '.join(tests)}; p is corrected by Holm's method. The p of a task type is corrected over all "
            f"types. The p of all pairs is corrected over all runs that are compared with {first_letter}. Intervals "
            f"(95 %): {' or '.join(intervals)}; for costs: over tasks, if each run solved at least {MIN_TASKS}. A "
            f"difference is significant if p is below {SIGNIFICANCE}. The intervals are not corrected, so near this "
            "threshold they may disagree with the test."
        )
    if any(compared.measures for compared in comparisons.values()):
        yield (
            "Test of measures: paired t over tasks; p is corrected by Holm's method over all measures, and over the "
            f"runs that are compared with {first_letter}; the intervals are not."
        )


def _shown(value: str) -> str:
    return "not set" if value == UNSET else abridged(value)


def _parts_of_comparison(compared: RunComparison, letters: Letters) -> Iterator[Grid | str]:
    first, second = letters
    yield f"{first}: {compared.first.run}"
    yield f"{second}: {compared.second.run}"
    yield "Settings that differ:" if compared.settings else "Both runs have the same settings and versions."
    yield from (f"  {row.name}: {_shown(row.first)}; in {second}: {_shown(row.second)}" for row in compared.settings)
    yield from _unpaired_lines(compared, letters)
    yield from (f"Note: {warning}" for warning in compared.warnings)
    yield _solved_table(compared, letters)
    yield from _changed_pair_lines(compared, letters)
    if compared.measures:
        yield _measures_table(compared.measures, letters)
        significant = [measure for measure, row in compared.measures.items() if row.is_significant]
        yield f"Statistically significant: {', '.join(significant) or 'none'}."
    if compared.costs:
        yield _costs_table(compared, letters)
    names = {compared.first.run: first, compared.second.run: second}
    sides = (compared.first, compared.second)
    if any(side.paying and side.paying.baseline for side in sides):
        yield from payoff_table({names[side.run]: side.paying and side.paying.named(names) for side in sides})
    yield from result_lines(compared, letters)


def result_lines(compared: RunComparison, letters: Letters) -> Iterator[str]:
    """Yield a sentence with the result.

    If some episodes broke or were not run, also yield how many did, and the result without their pairs.
    """
    overall, played, sides = compared.overall, compared.played, (compared.first, compared.second)
    yield f"{_result_in_words(overall, letters)}."
    if any(side.broken or side.not_run for side in sides):
        counts = [
            f"{side.broken} broken and {side.not_run} not run in {letter}"
            for letter, side in zip(letters, sides, strict=True)
        ]
        result_of_played = _result_in_words(played, letters) if played else "nothing is left to compare"
        yield f"Counted as not solved: {', '.join(counts)}. Without these pairs: {result_of_played}."
    if played and (played.is_significant, played.net_gain > 0) != (overall.is_significant, overall.net_gain > 0):
        yield "The result depends on them: play them (planbook run --resume RUN) before relying on it."


def _result_in_words(difference: SolvedDifference, letters: Letters) -> str:
    pairs, gain = f"{difference.pairs:,}", difference.net_gain
    if not difference.gained and not difference.lost:
        return (
            f"{letters[0]} and {letters[1]} solved the same {difference.first:,} of the {pairs} episodes: no difference"
        )
    count = f"{abs(gain):,} {'more' if gain > 0 else 'fewer'}" if gain else "just as many"
    test = "McNemar" if difference.test == MCNEMAR else "sign flips over tasks,"
    holm = " after Holm" if difference.p_corrected != difference.p else ""
    change = f"{100 * difference.difference:+.1f} points, {100 * difference.low:+.1f} to {100 * difference.high:.1f}"
    p = f"p {_format_p(difference.p_corrected)}{holm}"
    result = f"{letters[1]} solved {count} of the {pairs} episodes ({change}; {test} {p})"
    if difference.is_significant:
        return f"{result}: statistically significant"
    return f"{result}: this difference may be noise" if gain else f"{result}: no difference"


def _unpaired_lines(compared: RunComparison, letters: Letters) -> Iterator[str]:
    for letter, names in zip(letters, (compared.only_first, compared.only_second), strict=True):
        if names:
            yield f"Only in {letter}, and not counted below ({len(names)}): {listed(names, MAX_NAMES)}."


def _solved_table(compared: RunComparison, letters: Letters) -> Grid:
    columns = ("pairs", *_columns(letters), "95 % interval", "gained", "lost", "p")
    rows_by_type = compared.by_type | ({"all": compared.overall} if len(compared.by_type) > 1 else {})
    rows = [(task_type, *_cells(difference)) for task_type, difference in rows_by_type.items()]
    return Grid(
        f"Solved, of the shared tasks; {_columns(letters)[-1]} in percentage points", "task type", columns, rows
    )


def _columns(letters: Letters) -> tuple[str, str, str]:
    return (*letters, f"{letters[1]} - {letters[0]}")


def _cells(row: SolvedDifference) -> Iterator[str]:
    yield from (f"{count:,}" for count in (row.pairs, row.first, row.second))
    yield from format_points(row.difference, row.low, row.high)
    yield from (str(row.gained), str(row.lost), _format_p(row.p_corrected).removeprefix("= "))


def _measures_table(measures: Mapping[str, Difference], letters: Letters) -> Grid:
    rows = []
    for measure, row in measures.items():
        bounds = NO_FIGURE if row.low is None or row.high is None else f"{row.low:.4g} to {row.high:.4g}"
        p = NO_FIGURE if row.p_corrected is None else _format_p(row.p_corrected).removeprefix("= ")
        means = map(format_number, (row.first, row.second))
        rows.append((measure, str(row.pairs), *means, f"{row.difference:+.4g}", bounds, p))
    title = "Measured by the environment: means over the pairs that both runs played"
    return Grid(title, "measure", ("pairs", *_columns(letters), "95 % interval", "p"), rows)


def _changed_pair_lines(compared: RunComparison, letters: Letters) -> Iterator[str]:
    for change, (other, solver) in (("gained", letters), ("lost", letters[::-1])):
        if changed := [_format_change(pair) for pair in compared.changed if pair.change == change]:
            names = listed(changed, MAX_CHANGES)
            yield f"Solved only by {solver} ({len(changed)}), with the outcome in {other}: {names}."


def _format_change(changed: ChangedPair) -> str:
    repeat = f" repeat {changed.repeat}" if changed.repeat else ""
    return f"{changed.task}{repeat} ({in_words(changed.cause)})"


def _costs_table(compared: RunComparison, letters: Letters) -> Grid:
    rows = [
        (cost, *map(_format_estimate, (row.first, row.second, row.difference))) for cost, row in compared.costs.items()
    ]
    return Grid("Cost per solved task", "", _columns(letters), rows)


def _format_estimate(estimate: Estimate) -> str:
    if estimate.low is None and estimate.high is None:
        return format_number(estimate.value, 3)
    low, high = ("no bound" if bound is None else format_number(bound, 3) for bound in estimate[1:])
    return f"{format_number(estimate.value, 3)}\n({low} to {high})"


def _format_p(p: float) -> str:
    return f"< {MIN_SHOWN_P}" if p < MIN_SHOWN_P else f"= {p:.2g}"
