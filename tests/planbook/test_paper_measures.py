"""Runs beside the tables of AgentKit, Devil's Advocate and ADaPT's shop: columns that are measures of the whole run."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.envs import Selection, Task, Verdict
from planbook.papers.published import ALL, papers_of, publications
from planbook.planner import Ending, Outcome
from planbook.results.summary import Summary, summarise
from planbook.results.table import read_run
from planbook.runs import Run
from tests.planbook.results.methods.test_rounds import Book
from tests.planbook.test_paper_published import ENVIRONMENTS, differs, held, paper_of, printed, row, tables_of, values
from tests.rows import ask

_, ADAPT, _, AGENTKIT, ADVOCATE = publications()


def of(environment: str, planner: str, *, model: str = "", split: str = "", **more: Any) -> Config:
    models = {"default": f"openai:{model}"} if model else {}
    update: dict[str, Any] = {"selection": Selection(split=split or None), "models": models, **more}
    return Config(planner=planner, env=f"{ENVIRONMENTS}:{environment}", actions=30).model_copy(update=update)


def played(folder: Path, config: Config, endings: list[Ending], revisions: int = 0) -> tuple[Config, Summary]:
    """A run with one episode for each ending; each planned anew so often, with an action in each round."""
    kind = config.environment.types[0]
    tasks = [Task(id=f"{kind}/{n}", env="x", split="s", type=kind, goal="g") for n in range(len(endings))]
    with closing(Run.create(folder, config, tasks)) as run:
        for entry, ending in zip(run.entries(), endings, strict=True):
            if config.models:
                served = config.models["default"].removeprefix("openai:")
                run.store.put(entry.path, "ask", 0, ask("planner", "openai:x", "t", served=served))
            book = Book(run, entry.path)
            for number in range(revisions + 1 if revisions else 0):
                book.plan(number, 1)
            book.put(entry.path, "outcome", ending.model_dump(mode="json"))
        summary = summarise(
            list(read_run(run).episodes.values()), 1.0, str(folder), known=config.environment.all_milestones
        )
    return config, summary


def ended(reward: float | None, *milestones: str, solved: bool = False) -> Ending:
    measures = {} if reward is None else {"reward": reward}
    outcome = Outcome.DIRECT_SUCCESS if solved else Outcome.FAILURE
    verdict = Verdict(solved, min(reward or 0.0, 1.0))
    return Ending(
        outcome=outcome, cause="" if solved else "x", verdict=verdict, milestones=milestones, measures=measures
    )


# The data.


def test_what_the_text_says_follows_from_the_figures() -> None:
    agentkit, turbo, gpt4 = (
        next(each for each in AGENTKIT.tables[0].rows if (each.method, each.model[:11]) == key)
        for key in (("AgentKit", "GPT-4-0613,"), ("SPRING", "GPT-4-turbo"), ("SPRING", "GPT-4"))
    )
    assert agentkit.values["reward"] / turbo.values["reward"] == pytest.approx(1.8, abs=0.01)
    assert 1 - agentkit.values["cost"] / gpt4.values["cost"] == pytest.approx(0.45, abs=0.02)
    fewer = 1 - values(ADVOCATE, 1, "AR")["plan revisions"] / values(ADVOCATE, 1, "LATS")["plan revisions"]
    assert fewer == pytest.approx(0.45, abs=0.01)
    scores = [each.values["score"] for each in AGENTKIT.tables[1].rows]
    assert max(scores) / values(AGENTKIT, 2, "ReAct")["score"] == pytest.approx(1.05, abs=0.01)


# Runs beside them.


def test_a_game_stands_beside_table_1_with_score_reward_and_cost(tmp_path: Path) -> None:
    config = of("Crafter", "agentkit", model="gpt-4-0613", planner_options={"graph": "crafter"})
    compared = held(*played(tmp_path / "run", config, [ended(3.0, "wood"), ended(4.0, "wood", "stone"), ended(5.0)]))
    text = printed(compared)
    assert row(text, "AgentKit, table 1:", "AgentKit")[1:] == ["20.64", "12.8 ± 2.1", "138.00"]
    assert row(text, "AgentKit, table 1:", "SPRING, GPT-4-turbo")[1:] == ["7.74", "7.1 ± 3.4", "85.00"]
    ours = row(text, "AgentKit, table 1:", "ours: agentkit, graph crafter")
    assert ours[1:] == ["47.20", "4.0 ± 1.0", "0.00"]
    assert set(differs(compared)) == {"prompts", "actions that an episode may take"}


def test_what_plays_without_a_model_in_the_paper_too_differs_in_how_it_played(tmp_path: Path) -> None:
    compared = held(*played(tmp_path / "run", of("Crafter", "random"), [ended(2.0)] * 3))
    assert set(differs(compared)) == {"actions that an episode may take", "tasks"}
    assert differs(compared)["actions that an episode may take"] == ("30", "10000")
    assert differs(compared)["tasks"][0] == "3"
    assert row(printed(compared), "AgentKit, table 1:", "ours: random")[1:] == ["0.00", "2.0 ± 0.0", "0.00"]


def test_a_shop_s_score_is_a_hundred_times_the_reward_in_either_paper(tmp_path: Path) -> None:
    endings = [ended(0.5), ended(1.0, solved=True)]
    config = of("Shopping", "agentkit", model="gpt-4-turbo", planner_options={"graph": "shopping"})
    compared = held(*played(tmp_path / "kit", config, endings))
    assert row(printed(compared), "AgentKit, table 2:", "ours: agentkit") == ["ours: agentkit", "75.0"]
    assert differs(compared)["world"] == ("a made catalogue of 1,200 products", AGENTKIT.settings[1].environment)
    config = of("Shopping", "adapt", model="gpt-3.5-turbo", split="test")
    compared = held(*played(tmp_path / "adapt", config, endings))
    assert tables_of(compared) == [3, 9]
    assert row(printed(compared), "ADaPT, table 9:", "ours: adapt") == ["ours: adapt", "75.0", "50.0"]
    assert not any(each.types_played < each.types for each in paper_of(compared).tables)
    same: dict[str, Any] = {"env_options": {"items": "theirs.json"}}
    found = differs(held(*played(tmp_path / "items", config.model_copy(update=same), endings)))
    assert found["world"] == ("items theirs.json", ADAPT.settings[-1].environment)
    assert "world option items" not in found


def test_web_tasks_stand_beside_table_1_and_figure_6(tmp_path: Path) -> None:
    config = of("Web", "devils-advocate", model="gpt-4-0613", planner_options={"whole_subtasks": False})
    compared = held(*played(tmp_path / "run", config, [ended(None, solved=True), ended(None)], revisions=2))
    text = printed(compared)
    assert row(text, "Devil's Advocate, figure 6:", "AR")[1] == "23.5"
    assert row(text, "Devil's Advocate, figure 6:", "ours: devils-advocate")[1] == "50.0"
    assert row(text, "Devil's Advocate, table 1:", "AR")[1:] == ["6.39", "7.07", "0.64"]
    assert row(text, "Devil's Advocate, table 1:", "ours: devils-advocate")[1:] == ["1.00", "1.00", "2.00"]
    assert set(differs(compared)) == {"tasks", "world", "prompts", "temperature", "context, in tokens"}
    other = of("Web", "plan-act", model="gpt-4-0613", planner_options={"reflects": False, "rounds": 3})
    compared = held(*played(tmp_path / "other", other, [ended(None)], revisions=1))
    assert row(printed(compared), "table 1:", "ours: plan-act, reflects False")[-1] == "1.00"
    assert differs(compared)["rounds"] == ("3", "7")


def test_a_column_of_which_the_run_has_nothing_is_empty(tmp_path: Path) -> None:
    compared = held(*played(tmp_path / "run", of("Web", "react", model="gpt-4-0613"), [ended(None)]))
    assert [each.ours for each in paper_of(compared).tables] == [{ALL: 0.0}, {}]
    assert "table 1" not in printed(compared)
    assert differs(compared)["planner"] == ("react", "the paper does not have this method")


def test_each_method_finds_its_own_paper() -> None:
    assert papers_of("agentkit", "shopping") == [AGENTKIT]
    assert papers_of("lats", "shopping") == [ADAPT]
    assert papers_of("lats", "web") == [ADVOCATE]
    assert papers_of("random", "crafter") == [AGENTKIT]
    assert papers_of("agentkit", "moon") == []


def test_a_run_stands_beside_every_paper_that_has_its_method_and_environment(tmp_path: Path) -> None:
    config = of("Shopping", "react", model="gpt-3.5-turbo", split="test")
    compared = held(*played(tmp_path / "run", config, [ended(0.5), ended(1.0, solved=True)]))
    assert [each.paper for each in compared.papers] == ["ADaPT", "AgentKit"]
    assert (tables_of(compared, "ADaPT"), tables_of(compared, "AgentKit")) == ([3, 9], [2])
    assert differs(compared, "AgentKit")["model"] == ("gpt-3.5-turbo", "gpt-4-turbo or gpt-4-0613")
    assert "model" not in differs(compared, "ADaPT")
    text = printed(compared)
    assert text.count("Ours: react with gpt-3.5-turbo") == 1
    assert row(text, "ADaPT, table 9:", "ours: react") == ["ours: react", "75.0", "50.0"]
    assert row(text, "AgentKit, table 2:", "ReAct") == ["ReAct", "66.6"]
    assert row(text, "AgentKit, table 2:", "ours: react") == ["ours: react", "75.0"]
    own, _, other = text.partition("Differences from ADaPT's setting")[2].partition("Differences from AgentKit's")
    assert "Only quoted" not in own
    assert "Only quoted, as they cannot be played here: Act, AgentBench." in other
