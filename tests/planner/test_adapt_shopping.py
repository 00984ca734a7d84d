"""ADaPT where notes are handed on: a whole purchase by four skills, what its planner sees, and the naive buyer."""

from typing import Any

from planbook.envs import Environment, Selection, load_environment
from planbook.planner import METHODS, Ending, Episode, EpisodeSettings, MemoryJournal, Outcome, play
from planbook.planner.roles import Roles
from planbook.sandbox import Sandbox
from tests.planner.players import GOAL, NOTE, Players, Traced, claims, code, done_by, planned, played

SEARCH = "search for a storage ottoman"
SHORTLIST = "shortlist storage ottomans below 100.00 dollars"
MATCH = "match the shortlisted products against: space saving, faux leather, fully assembled"
FIRST, SECOND = "match B0WQHPCZ5C against: space saving", "match B0Z1STOEFE against: space saving"
BUY = "buy the matching product with color coral and size 16 x 16 inch"
SKILLS = {
    SEARCH: "agent.search('space saving faux leather storage ottoman')\nfinish(True)",
    SHORTLIST: "ids = [each['id'] for each in agent.results()]\nfinish(True, f'Shortlisted: {ids}.')",
    FIRST: "finish(False, 'a reason that the planner is not told')",
    SECOND: "agent.click('B0Z1STOEFE')\nfinish('Faux Leather' in agent.click('Attributes'), 'Matched: B0Z1STOEFE.')",
    BUY: "agent.click('< Prev')\nagent.click('coral')\nagent.click('16 x 16 inch')\nagent.click('Buy Now')",
}


def bought(
    sandbox: Sandbox, players: Players, journal: MemoryJournal, method: str = "adapt", **options: Any
) -> tuple[Ending, Environment]:
    environment = load_environment("shopping")()
    [task] = environment.select(Selection(ids=("example/541",)))
    episode = Episode(
        task, environment, sandbox, journal, settings=EpisodeSettings(actions=100), roles=Roles(players.model, {})
    )
    return play(episode, METHODS[method].play, METHODS[method].options.model_validate(options)), environment


def goal() -> str:
    return load_environment("shopping").select(Selection(ids=("example/541",)))[0].goal


def test_the_four_skills_buy_what_is_wanted(sandbox: Sandbox) -> None:
    plans = {
        goal(): planned("S1 AND S2 AND S3 AND S4", SEARCH, SHORTLIST, MATCH, BUY),
        MATCH: planned("S1 OR S2", FIRST, SECOND),
    }
    players, journal = Players(SKILLS, plans), MemoryJournal()
    ending, environment = bought(sandbox, players, journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert ending.measures == {"reward": 1.0}
    assert environment.state().startswith("You have bought B0Z1STOEFE: ")
    handed = {claim["text"]: claim["handed"] for claim in claims(journal) if claim["by"] == "executor"}
    assert handed[SEARCH] == "You are on the search page."
    assert handed[FIRST].endswith("Shortlisted: " + handed[MATCH].partition("Shortlisted: ")[2])
    assert handed[BUY].endswith(". Matched: B0Z1STOEFE.")
    assert handed[BUY].startswith("You are on the attributes page of B0Z1STOEFE: ")


def test_the_planner_sees_the_page_and_what_failed_but_no_reasons(sandbox: Sandbox) -> None:
    third = "match B0LRCTEVFP against: space saving"
    plans = {goal(): planned("S1 AND (S2 OR S3)", SEARCH, FIRST, MATCH), MATCH: planned("S1", third)}
    players = Players(SKILLS, plans)
    bought(sandbox, players, MemoryJournal())
    first, of_first, of_match = players.prompts("planner")[0], *players.prompts("planner")[-2:]
    assert first.startswith("The search page.")
    assert "What was tried before" not in first
    assert of_match.startswith("Results for 'space saving faux leather storage ottoman': 1 to 10 of 50\n")
    assert "[B0Z1STOEFE] " in of_match
    told = of_match.partition("# What was tried before, and failed")[2].partition("#")[0]
    assert told.split() == f"- {FIRST}".split()
    assert "a reason that" not in players.whole("planner")
    assert of_first != of_match


def test_an_executor_sees_the_page_but_not_the_whole_goal(sandbox: Sandbox) -> None:
    players = Players(SKILLS, {goal(): planned("S1 AND S2", SEARCH, SHORTLIST)})
    bought(sandbox, players, MemoryJournal())
    shortlisting = [asked for asked in players.prompts("executor") if SHORTLIST in asked]
    assert len(shortlisting) == 1
    assert shortlisting[0].startswith("Results for ")
    assert goal() not in shortlisting[0]


def test_it_has_fifteen_replies_for_a_piece_of_work_and_react_three_times_as_many(sandbox: Sandbox) -> None:
    for method, replies in (("adapt", 15), ("react", 45)):
        players = Players({goal(): "agent.clickable()"})
        bought(sandbox, players, MemoryJournal(), method, **({"d_max": 1} if method == "adapt" else {}))
        assert len(players.prompts("executor")) == replies


def test_the_naive_buyer_takes_the_first_result_without_a_model(sandbox: Sandbox) -> None:
    ending, environment = bought(sandbox, Players(), MemoryJournal(), "naive")
    assert ending.actions == 3
    assert 0.0 < ending.verdict.score < 1.0
    assert str(environment.history[0][0]) == f"search({goal()!r})"


def test_the_naive_buyer_gives_up_where_an_environment_has_no_plan_for_it(sandbox: Sandbox) -> None:
    ending, _ = played(sandbox, Players(), "naive")
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.FAILURE, "no_plan", 0)


class Noted(Traced):
    """Whoever comes next is told what the last said at the end."""

    hands_on = "note"

    def state(self) -> str:
        """How much was done."""
        return f"{len(self.history)} done."


def test_a_note_stays_until_there_is_another_and_a_failure_leaves_none(sandbox: Sandbox) -> None:
    does = {
        "a": "finish(True, 'note of a')",
        "b": done_by("b"),
        "c": "agent.touch('c')\nfinish(True, 'note of c')",
        "d": f"finish(False, '{NOTE}')",
        "e": done_by("e"),
    }
    order = "(S1 AND S2 AND ((S3 AND S4) OR S5))"
    players, journal = Players(does, {GOAL: planned(order, *"abcde")}), MemoryJournal()
    played(sandbox, players, options={"d_max": 2}, journal=journal, environment=Noted())
    handed = {claim["text"]: claim["handed"] for claim in claims(journal) if claim["by"] == "executor"}
    assert handed["a"] == "0 done."
    assert handed["b"] == "0 done. note of a"
    assert handed["c"] == "1 done. note of a"
    assert handed["d"] == "2 done. note of c"
    assert handed["e"] == "2 done. note of a", "c and d failed as a whole"


def test_other_environments_planners_are_told_no_failures(sandbox: Sandbox) -> None:
    plans = {GOAL: planned("S1 OR S2", "a", "b"), "b": planned("S1", "c")}
    for environment, told in ((Traced(), False), (Noted(), True)):
        players = Players({"x": code("pass")}, plans)
        played(sandbox, players, environment=environment)
        assert ("What was tried before" in players.whole("planner")) is told
