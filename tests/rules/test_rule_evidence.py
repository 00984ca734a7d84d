"""The evidence for a rule, counted over episodes."""

from planbook.rules import Citation, Evidence
from planbook.rules.evidence import NO_EVIDENCE, count_evidence, evidence_table
from tests.rules.example_book import BOOK

CITATIONS = (
    Citation(episode="task/0", rule_ids=("rule_0", "rule_2", "rule_0"), solved=True),
    Citation(episode="task/1", rule_ids=("rule_2",), solved=False, ignored_rule_ids=frozenset({"rule_2", "rule_1"})),
    Citation(episode="task/2", rule_ids=("rule_2", "rule_99"), solved=True, ignored_rule_ids=frozenset({"rule_99"})),
)


def test_an_episode_counts_once_for_each_rule_that_it_cites() -> None:
    counted = count_evidence(CITATIONS)
    assert counted == {
        "rule_0": Evidence(cited=1, unblamed=1, solved=1),
        "rule_2": Evidence(cited=3, unblamed=2, solved=2),
        "rule_99": Evidence(cited=1, unblamed=0, solved=1),
    }


def test_the_later_of_two_records_of_an_episode_counts() -> None:
    corrected = CITATIONS[1].model_copy(update={"solved": True, "ignored_rule_ids": frozenset()})
    assert count_evidence((*CITATIONS, corrected))["rule_2"] == Evidence(cited=3, unblamed=3, solved=3)


def test_the_table_has_a_row_for_every_rule() -> None:
    assert evidence_table(BOOK, count_evidence(CITATIONS)) == (
        "rule    type                  cited  without blame  solved\n"
        "rule_0  Special Mechanism         1              1       1\n"
        "rule_1  Useful Helper Method      0              0       0\n"
        "rule_2  Success Process           3              2       2\n"
        "rule_3  Unresolved Error          0              0       0\n"
    )


def test_evidence_is_printed_as_one_line() -> None:
    counted = count_evidence(CITATIONS)
    assert str(counted["rule_0"]) == "cited in 1 episode (1 without blame, 1 solved)"
    assert str(counted["rule_2"]) == "cited in 3 episodes (2 without blame, 2 solved)"
    assert str(NO_EVIDENCE) == "never cited"
