"""Hypothesis strategies for rules and manuals whose content is hard to write as Markdown."""

from hypothesis import strategies as st

from planbook.manuals.markdown import Manual, Section
from planbook.rules import Rule, RuleType

SNIPPETS = (
    *("\\", "\\n", "\\_", "**kwargs", "*args", "__init__", "_", "`", "``", "```", "````", "`````", "~~~", "~~~~~"),
    *("```python", "```markdown", "\n", "\n\n", "\r\n", "\r", "\t", "    ", "  \n", " ", "# ", "## Section\n"),
    *("### rule_3 (Success Process)\n", "#### deep\n", "---\n", "===\n", "> ", "- ", "1. ", "rule_3", "rule_3: x\n"),
    *("<b>", "<!--", "-->", "<script>", "</script>", "&amp;", "[a](b)", "[a]: b", "![i](j)", "|a|b|\n|-|-|\n", "$x$"),
    *("~x~", ":smile:", "Example:", "\nExample:\n", "Builds on rule_1.", "\nBuilds on rule_1.\n", "Rules: rule_1"),
    *(
        "Example: [left out for length]",
        "text",
        "é",
        "漢",
        "🙂",
        "\u2028",
        "\x85",
        "\x0b",
        "\x0c",
        "\x00",
        "\ufeff",
        "\ud800",
    ),
    *("agent.open('box_1')", "For tasks", "x < 3", "a.b_c", "**Search**: look"),
)

texts = st.one_of(
    st.text(max_size=40),
    st.lists(st.sampled_from(SNIPPETS), max_size=8).map("".join),
    st.text(alphabet="`~#>-_*\\ \n\r\tab1.:", max_size=30),
)
ids = st.integers(0, 12).map("rule_{}".format)


def accepted(kind: type[Section] | type[Manual], field: str) -> st.SearchStrategy[str]:
    """Return hostile prose that the model accepts."""

    def is_accepted(text: str) -> bool:
        try:
            kind(title="x", **{field: text})
        except ValueError:
            return False
        return True

    return texts.filter(is_accepted)


@st.composite
def rule_lists(draw: st.DrawFn) -> list[Rule]:
    """Draw rules in any order, each with its own id."""
    return [
        Rule(
            id=id,
            type=draw(st.none() | st.sampled_from(RuleType)),
            content=draw(texts),
            example=draw(texts),
            builds_on=tuple(draw(st.lists(ids, max_size=2))),
            log=("seen in a test",),
        )
        for id in draw(st.lists(ids, unique=True, max_size=4))
    ]


@st.composite
def manuals(draw: st.DrawFn) -> tuple[Manual, list[Rule]]:
    """Draw a manual, and the rules that it names."""
    rules = draw(rule_lists())
    titles = texts.filter(lambda text: bool(text.split()))
    parts: list[list[str]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for rule in rules:
        draw(st.sampled_from(parts)).append(rule.id)
    sections = tuple(
        Section(title=draw(titles), introduction=draw(accepted(Section, "introduction")), rule_ids=tuple(part))
        for part in parts
    )
    return Manual(title=draw(titles), overview=draw(accepted(Manual, "overview")), sections=sections), rules
