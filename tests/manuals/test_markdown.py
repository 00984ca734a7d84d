"""Manuals are rendered as Markdown, which planbook and any other Markdown reader can read."""

import re

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from planbook.manuals.errors import BadManual
from planbook.manuals.markdown import Manual, Section, excerpt, parse, render, render_rule
from planbook.rules import Rule, RuleType
from tests.manuals.hostile import SNIPPETS, manuals, texts

READER = MarkdownIt("gfm-like", {"linkify": False})
OPEN = Rule(id="rule_0", type=RuleType.SPECIAL_MECHANISM, content="A closed box must be opened first.")
FETCH = Rule(
    id="rule_2",
    type=RuleType.SUCCESS_PROCESS,
    content="For tasks that put one thing on the table:\n1. open box after box until it shows\n2. take it, put it",
    example="def find(agent, **kwargs):\n    return r'\\d'\n",
    builds_on=("rule_0", "rule_1"),
    log=("induced from a direct success",),
)
BOTH = Manual(
    title="Manual for the toy",
    overview="Boxes hide things.",
    sections=(
        Section(title="Boxes", introduction="**Key points**\n\n- open, then look", rule_ids=("rule_0",)),
        Section(title="Fetching", rule_ids=("rule_2",)),
    ),
)
WRITTEN = """\
# Manual for the toy

Boxes hide things.

## Boxes

**Key points**

- open, then look

### rule_0 (Special Mechanism)

A closed box must be opened first.

## Fetching

### rule_2 (Success Process)

For tasks that put one thing on the table:
1. open box after box until it shows
2. take it, put it

Builds on rule_0, rule_1.

Example:

```python
def find(agent, **kwargs):
    return r'\\d'

```
"""


def without_log(rule: Rule) -> Rule:
    return rule.model_copy(update={"log": ()})


def as_readers_do(text: str) -> str:
    """Normalise as CommonMark does: one kind of line end, and no NUL."""
    return re.sub("\r\n?", "\n", text).replace("\x00", "\ufffd")


def test_a_manual_is_rendered_as_markdown() -> None:
    assert render(BOTH, [FETCH, OPEN]) == WRITTEN


@given(manuals())
def test_any_reader_sees_every_rule_and_example(written: tuple[Manual, list[Rule]]) -> None:
    manual, rules = written
    tokens = READER.parse(render(manual, rules))
    headings = [index for index, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h3"]
    seen = [tokens[index + 1].content.split()[0] for index in headings if tokens[index].level == 0]
    assert seen == list(manual.rule_ids)
    fences = [token.content for token in tokens if token.type == "fence"]
    assert all(as_readers_do(rule.example + "\n") in fences for rule in rules if rule.example)


@given(manuals())
def test_a_rendered_manual_is_read_back(written: tuple[Manual, list[Rule]]) -> None:
    manual, rules = written
    read, found = parse(render(manual, rules))
    assert read == manual
    assert sorted(found, key=lambda rule: rule.id) == sorted(map(without_log, rules), key=lambda rule: rule.id)


@pytest.mark.parametrize("frame", ["{}", "a {}", "a\n{}", "{}\nb", "a\n\n{}\n\nb", "{0}{0}", "{0}\n{0}"])
def test_every_snippet_is_read_back(frame: str) -> None:
    for snippet in SNIPPETS:
        text = frame.format(snippet)
        rule = Rule(id="rule_7", type=None, content=text, example=text)
        _, (found,) = parse(f"# t\n\n## s\n\n{render_rule(rule)}\n")
        assert found == rule


@given(texts, texts)
def test_any_reader_sees_the_example_unchanged_and_nothing_escapes(content: str, example: str) -> None:
    rule = Rule(id="rule_7", type=RuleType.CORRECTED_ERROR, content=content, example=example)
    tokens = READER.parse(f"{render_rule(rule)}\n\n## after\n")
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h3", "h2"]
    if example:
        assert [token.content for token in tokens if token.type == "fence"][-1] == as_readers_do(example + "\n")


@given(texts)
def test_any_reader_sees_the_content_unchanged(content: str) -> None:
    tokens = READER.parse(render_rule(Rule(id="rule_7", type=None, content=content)))[3:]
    fences = [token.content for token in tokens if token.type == "fence"]
    if fences:
        assert fences == [as_readers_do(content + "\n")]
        return
    seen = "".join(child.content for token in tokens for child in token.children or [])
    written = re.sub(r"(?m)^ *(?:[-+]|\d+[.)]) ", "", content)
    assert re.sub(r"[`\s*]", "", seen) == re.sub(r"[`\s*]", "", written)


@pytest.mark.parametrize(
    ("manual", "rules", "message"),
    [
        (BOTH, [OPEN], "not among the rules: rule_2"),
        (BOTH, [OPEN, FETCH, OPEN.model_copy(update={"id": "rule_5"})], "in no section: rule_5"),
        (BOTH.model_copy(update={"sections": (*BOTH.sections, BOTH.sections[0])}), [OPEN, FETCH], "than once: rule_0"),
    ],
)
def test_sections_must_name_every_rule_once_and_no_other(manual: Manual, rules: list[Rule], message: str) -> None:
    with pytest.raises(BadManual, match=message):
        render(manual, rules)


@pytest.mark.parametrize("changed", [{"id": "3"}, {"builds_on": ("box",)}])
def test_an_invalid_rule_id_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(BadManual, match="is not a rule id"):
        render_rule(OPEN.model_copy(update=changed))


@pytest.mark.parametrize(
    "text",
    [
        *("## mine", "a\n# b", "  ## mine", "a\r# b", "### rule_1 (Special Mechanism)"),
        *("```\nopen", "<!-- hidden", "<script>", "a\n\n     ```\nx\n```"),
    ],
)
def test_prose_that_would_not_be_read_back_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Section(title="x", introduction=text)


def test_a_manual_edited_by_hand_is_read() -> None:
    edited = (
        WRITTEN.replace("\n", "\r\n")
        .replace("Builds on rule_0, rule_1.", "Builds on rule_0 and rule_1")
        .replace("A closed box must be opened first.", "First open:\r\n\r\n```text\r\n# a box\r\n```\r\nThen look.")
    )
    manual, rules = parse("\ufeff" + edited)
    assert manual == BOTH
    assert rules[1] == without_log(FETCH)
    assert rules[0].content == "First open:\n\n```text\n# a box\n```\nThen look."
    assert parse(render(manual, rules)) == (manual, rules)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: .*title"),
        ("hello\n# t", "line 1: .*title"),
        ("# t\n\n# u", "line 3: a second title"),
        ("# t\n##\n", "line 2: a heading without"),
        ("# t\n\n### rule_1", "line 3: rule_1 occurs before any section"),
        ("# t\n## s\n### rule_1\n### rule_1", "line 4: rule_1 occurs twice"),
        ("# t\n## s\n### Key points", "line 3: .*'###' begins a rule"),
        ("# t\n## s\n### rule_1 (Sucess Process)", "line 3: there is no type"),
        ("# t\n## s\n### rule_1\nExample:\n\ncode", "line 4: one code fence, and nothing else, must follow 'Example:'"),
        ("# t\n## s\n### rule_1\nBuilds on sand.", "line 4: 'sand' is not a rule id"),
        ("# t\n## s\n### rule_1\nBuilds on rule_0.\nmore", "line 5: the rule's content comes before"),
        ("# t\n## s\n### rule_1\nBuilds on rule_0.\nBuilds on rule_2.", "line 5: .*may occur only once"),
        (
            "# t\n## s\n### rule_1\nExample:\nBuilds on rule_0.",
            "line 5: 'Builds on rule_0.' must come before 'Example:'",
        ),
        ("# t\n<!-- a\n## b\n", "left open in the prose that begins with '<!-- a'"),
        ("# t\n\n```\n# u", "line 3: the code fence '```' is never closed"),
        ("# t\n## s\n### rule_1\nExample: [left out for length]", "line 4: this manual was shortened; use the full"),
    ],
)
def test_an_invalid_manual_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(BadManual, match=message):
        parse(text)


def test_a_manual_is_parsed_once_for_many_excerpts() -> None:
    text = render(BOTH, [OPEN, FETCH])
    parse.cache_clear()
    assert [excerpt(text, rules) for rules in ([OPEN], [FETCH])] != [text, text]
    assert parse.cache_info().misses == 1
