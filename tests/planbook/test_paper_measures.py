"""Runs are compared with the tables of AgentKit, Devil's Advocate and ADaPT (shopping), which measure whole runs."""

from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.console import ALL
from planbook.envs import Selection, Verdict
from planbook.planner import Ending
from planbook.runs import EpisodeEntry, Run
from tests.planbook.papers import ADAPT, ADVOCATE, AGENTKIT, ENVIRONMENTS, Comparison, compare, solved_if, values
from tests.rows import EpisodeWriter, request_body

GPT_4, GPT_4_TURBO, TURBO = "gpt-4-0613", "gpt-4-turbo", "gpt-3.5-turbo"


def compare_run(
    folder: Path,
    environment: str,
    planner: str,
    endings: list[Ending],
    *,
    model: str | tuple[str, ...] = "",
    split: str | None = None,
    revisions: int = 0,
    **more: Any,
) -> Comparison:
    """Compare a run with these endings. Each episode has ``revisions`` revised plans, and one action in each round."""
    served = (model,) if isinstance(model, str) and model else tuple(model)
    models = {"default": f"openai:{served[0]}"} if served else {}
    selection = Selection(split=split)
    env = f"{ENVIRONMENTS}:{environment}"
    config = Config(planner=planner, env=env, actions=30, selection=selection, models=models, **more)

    def plans(run: Run, entry: EpisodeEntry) -> None:
        for number, name in enumerate(served):
            run.store.put(entry.path, "ask", number, request_body("planner", "openai:x", "t", served=name))
        writer = EpisodeWriter(run, entry.path)
        for number in range(revisions + 1 if revisions else 0):
            writer.plan(number, 1)

    counts = {config.environment.types[0]: len(endings)}
    return compare(folder, config, counts, lambda entry: endings[entry.index], events=plans)


def ending_with_reward(reward: float | None, *milestones: str, solved: bool = False) -> Ending:
    measures = {} if reward is None else {"reward": reward}
    verdict = Verdict(solved, min(reward or 0.0, 1.0))
    return solved_if(solved, verdict=verdict, milestones=milestones, measures=measures)


SHOP_ENDINGS = [ending_with_reward(0.5), ending_with_reward(1.0, solved=True)]


def test_the_ratios_in_the_papers_texts_follow_from_their_tables() -> None:
    agentkit = next(row.values for row in AGENTKIT.tables[0].rows if row.model.startswith("GPT-4-0613,"))
    turbo, gpt_4 = (values(AGENTKIT, 1, "SPRING", model=model) for model in ("GPT-4-turbo", "GPT-4"))
    assert agentkit["reward"] / turbo["reward"] == pytest.approx(1.8, abs=0.01)
    assert 1 - agentkit["cost"] / gpt_4["cost"] == pytest.approx(0.45, abs=0.02)
    fewer = 1 - values(ADVOCATE, 1, "AR")["plan revisions"] / values(ADVOCATE, 1, "LATS")["plan revisions"]
    assert fewer == pytest.approx(0.45, abs=0.01)
    best = max(row.values["score"] for row in AGENTKIT.tables[1].rows)
    assert best / values(AGENTKIT, 2, "ReAct")["score"] == pytest.approx(1.05, abs=0.01)


def test_a_game_is_compared_by_score_reward_and_cost(tmp_path: Path) -> None:
    endings = [ending_with_reward(3.0, "wood"), ending_with_reward(4.0, "wood", "stone"), ending_with_reward(5.0)]
    graph: dict[str, Any] = {"planner_options": {"graph": "crafter"}}
    compared = compare_run(tmp_path, "Crafter", "agentkit", endings, model=GPT_4, **graph)
    assert compared.row("AgentKit, table 1:", "AgentKit") == ["20.64", "12.8 ± 2.1", "138.00"]
    assert compared.row("AgentKit, table 1:", "SPRING, GPT-4-turbo") == ["7.74", "7.1 ± 3.4", "85.00"]
    ours = compared.row("AgentKit, table 1:", "ours: agentkit")
    assert ours == ["47.20", "4.0 ± 1.0", "-"], "replies that cost nothing have no price to compare"
    assert compared.row("AgentKit, table 1:", "n 3") == ["", "", ""], (
        "no interval: the share solved is not in the table"
    )
    differs = {"prompts", "actions allowed in an episode", "manual", "context, in tokens", "model"}
    assert set(compared.differs()) == differs
    assert compared.differs()["model"] == (GPT_4, "gpt-4-0613 and gpt-4-turbo and gpt-3.5-turbo")


@pytest.mark.parametrize(
    ("served", "graph", "theirs"),
    [
        ((GPT_4, GPT_4_TURBO, TURBO), "crafter", None),
        ((GPT_4, GPT_4_TURBO), "crafter", "gpt-4-0613 and gpt-4-turbo and gpt-3.5-turbo"),
        (("gpt-4",), "spring", None),
        (("gpt-4o",), "spring", "gpt-4 or gpt-4-turbo"),
        ((GPT_4_TURBO,), "chain-of-thought", None),
        ((GPT_4,), "chain-of-thought", "gpt-4-turbo"),
    ],
)
def test_a_run_is_compared_with_the_rows_of_its_graph(
    tmp_path: Path, served: tuple[str, ...], graph: str, theirs: str | None
) -> None:
    endings = [ending_with_reward(3.0)] * 3
    limit = {} if graph == "crafter" else {"actions_per_step": 1}
    options: dict[str, Any] = {"planner_options": {"graph": graph, **limit}}
    compared = compare_run(tmp_path, "Crafter", "agentkit", endings, model=served, **options)
    assert compared.differs().get("model", ("", None))[1] == theirs
    assert not {"graph", "actions_per_step"} & set(compared.differs())
    unlimited = compare_run(tmp_path, "Crafter", "agentkit", endings, planner_options={"graph": graph}, model=served)
    assert ("actions_per_step" in unlimited.differs()) == (graph != "crafter")


def test_a_method_without_a_model_differs_only_in_its_numbers_of_actions_and_tasks(tmp_path: Path) -> None:
    compared = compare_run(tmp_path, "Crafter", "random", [ending_with_reward(2.0)] * 3)
    differs = compared.differs()
    assert set(differs) == {"actions allowed in an episode", "tasks"}
    assert differs["actions allowed in an episode"] == ("30", "10000")
    assert differs["tasks"][0] == "3"
    assert compared.row("AgentKit, table 1:", "ours: random") == ["0.00", "2.0 ± 0.0", "0.00"]


def test_the_score_of_a_shop_is_a_hundred_times_the_reward(tmp_path: Path) -> None:
    graph: dict[str, Any] = {"planner_options": {"graph": "shopping"}}
    agentkit = compare_run(tmp_path, "Shopping", "agentkit", SHOP_ENDINGS, model=GPT_4_TURBO, **graph)
    assert agentkit.row("AgentKit, table 2:", "ours: agentkit") == ["75.0"]
    assert agentkit.differs()["environment"] == (
        "a generated catalogue of 1,200 products",
        AGENTKIT.settings[1].environment,
    )
    adapt = compare_run(tmp_path, "Shopping", "adapt", SHOP_ENDINGS, model=TURBO, split="test")
    assert adapt.tables() == [3, 9]
    assert adapt.row("ADaPT, table 9:", "ours: adapt") == ["75.0", "50.0"]


def test_the_items_of_a_shop_are_listed_as_a_difference_of_its_world(tmp_path: Path) -> None:
    items: dict[str, Any] = {"env_options": {"items": "theirs.json"}}
    differs = compare_run(tmp_path, "Shopping", "adapt", SHOP_ENDINGS, model=TURBO, split="test", **items).differs()
    assert differs["environment"] == ("items theirs.json", ADAPT.settings[-1].environment)
    assert "environment option items" not in differs


def test_web_tasks_are_compared_with_table_1_and_figure_6(tmp_path: Path) -> None:
    options: dict[str, Any] = {"planner_options": {"whole_subtasks": False}}
    endings = [ending_with_reward(None, solved=True), ending_with_reward(None)]
    compared = compare_run(tmp_path, "Web", "devils-advocate", endings, model=GPT_4, revisions=2, **options)
    assert compared.row("Devil's Advocate, figure 6:", "AR") == ["23.5"]
    assert compared.row("Devil's Advocate, figure 6:", "ours: devils-advocate") == ["50.0"]
    assert compared.row("Devil's Advocate, table 1:", "AR") == ["6.39", "7.07", "0.64"]
    assert compared.row("Devil's Advocate, table 1:", "ours: devils-advocate") == ["1.00", "1.00", "2.00"]
    sampling = {"temperature", "context, in tokens", "tokens of a reply"}
    assert set(compared.differs()) == {"tasks", "environment", "prompts", *sampling}
    assert compared.differs()["tokens of a reply"] == ("4000", "512")
    options = {"planner_options": {"reflects": False, "rounds": 3}}
    compared = compare_run(tmp_path, "Web", "plan-act", [ending_with_reward(None)], model=GPT_4, revisions=1, **options)
    assert compared.row("table 1:", "ours: plan-act")[-1] == "1.00"
    assert compared.differs()["rounds"] == ("3", "7")


def test_webarenas_tasks_need_their_sites_and_unstated_options_are_named_as_such(tmp_path: Path) -> None:
    access: dict[str, Any] = {"sites": {"shop": "http://shop.example"}, "logins": "logins"}
    for tasks, differing in ((None, {"sites", "logins", "patience"}), ("webarena.json", {"patience"})):
        options: dict[str, Any] = {"planner_options": {"remedies": 5}}
        options["env_options"] = {"tasks": tasks, "patience": 30.0, **access}
        ending = ending_with_reward(None)
        differs = compare_run(tmp_path, "Web", "devils-advocate", [ending], model=GPT_4, **options).differs()
        assert {name for name in differs if "option" in name} == {f"environment option {name}" for name in differing}
        assert differs["remedies"] == ("5", "not stated (our default: 2)")
    assert differs["environment"][0] == "tasks webarena.json"


def test_a_table_without_any_of_our_figures_is_not_printed(tmp_path: Path) -> None:
    compared = compare_run(tmp_path, "Web", "react", [ending_with_reward(None)], model=GPT_4)
    assert [each.ours for each in compared.paper().tables] == [{ALL: 0.0}, {}]
    assert "table 1" not in compared.text
    assert compared.differs()["planner"] == ("react", "the paper does not have this method")


def test_a_run_is_compared_with_every_paper_of_its_method_and_environment(tmp_path: Path) -> None:
    compared = compare_run(tmp_path, "Shopping", "react", SHOP_ENDINGS, model=TURBO, split="test")
    assert [each.paper for each in compared.papers] == ["ADaPT", "AgentKit"]
    assert (compared.tables("ADaPT"), compared.tables("AgentKit")) == ([3, 9], [2])
    assert compared.differs("AgentKit")["model"] == (TURBO, "gpt-4-turbo or gpt-4-0613")
    assert "model" not in compared.differs("ADaPT")
    assert compared.text.count("Ours: react with gpt-3.5-turbo") == 1
    assert compared.row("ADaPT, table 9:", "ours: react") == ["75.0", "50.0"]
    assert compared.row("AgentKit, table 2:", "ReAct") == ["66.6"]
    assert compared.row("AgentKit, table 2:", "ours: react") == ["75.0"]
    own, _, other = compared.text.partition("Differences from ADaPT's setting")[2].partition(
        "Differences from AgentKit's"
    )
    assert "Only quoted" not in own
    assert "Only quoted, because planbook does not play them as this paper does: Act, AgentBench." in other
