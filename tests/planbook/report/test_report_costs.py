"""The cost of a run by role, model and prompt, compared with sums that the test computes."""

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.planner import Spending
from planbook.report.sections import costs, money_per_solved
from planbook.results import read_folder, read_run
from planbook.runs import Run
from planbook.spending import Pricing, load_pricing
from planbook.wording import PRICE_UNKNOWN, format_money
from tests.flows import invoke, refusal, scripted
from tests.reported import Page, reported
from tests.rows import SOLVED, EpisodeWriter, new_run, request_body

PRICES = {"models": {"big": {"input": 10, "cached": 1, "output": 30}, "small": {"input": 1, "output": 2}}}
"""US dollars per million tokens."""
ASKS = [
    ("task/0", "planner", "openai:big", "plan.j2", 1000, 400, 100, 2.0),
    ("task/0", "planner", "openai:big", "plan.j2", 2000, 0, 50, 3.0),
    ("task/1", "planner", "openai:small", "again.j2", 500, 0, 20, 0.5),
    ("learn/0/builder/0", "builder", "openai:big", "manage.j2", 4000, 1000, 300, 9.0),
]
"""Scope, role, model, prompt, prompt tokens, cached prompt tokens, tokens of the reply, and seconds of each call."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("costs") / "run"
    with closing(new_run(folder, *"aa", planner="automanual")) as run:
        for number, row in enumerate(ASKS):
            run.store.put(row[0], "ask", number, request_body(*row[1:]))
        run.store.put("learn/0/verify/0", "act", 0, {"counted": True})
        for entry in run.entries():
            EpisodeWriter(run, entry.path).end(SOLVED)
    return folder


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("prices") / "prices.json"
    file.write_text(json.dumps(PRICES))
    return file


def count_costs(folder: Path, price: Pricing) -> Mapping[str, Mapping[str, Spending]]:
    return read_folder(folder, price).costs


def expected(column: int) -> dict[str, float]:
    """Map each role (column 1), model (2) or prompt (3) to the money that it cost."""
    table: Any = PRICES["models"]
    found: Counter[str] = Counter()
    for row in ASKS:
        name = row[2].removeprefix("openai:")
        price = table[name]
        fresh, cached, reply = row[4] - row[5], row[5], row[6]
        paid = fresh * price["input"] + cached * price.get("cached", price["input"]) + reply * price["output"]
        found[str(row[column])] += paid / 1e6
    return dict(found)


def test_costs_are_added_up_by_role_model_and_prompt(folder: Path, prices: Path) -> None:
    found = count_costs(folder, load_pricing(prices))
    for column, rows in enumerate(found.values(), 1):
        assert {name: spent.money for name, spent in rows.items()} == pytest.approx(expected(column))
        for name, spent in rows.items():
            own: list[Any] = [each for each in ASKS if each[column] == name]
            assert spent.calls == len(own)
            assert spent.prompt == sum(each[4] for each in own)
            assert spent.cached == sum(each[5] for each in own)
            assert spent.completion == sum(each[6] for each in own)
            assert spent.waited == sum(each[7] for each in own)
    total = sum(found["role"].values(), Spending())
    assert total.money == pytest.approx(sum(expected(1).values()))
    assert money_per_solved(total, 2) == format_money(sum(expected(1).values()) / 2)


def test_the_cost_of_a_model_without_a_price_is_unknown(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "prices.json"
    table.write_text(json.dumps({"models": {"small": {"input": 1, "output": 2}}}))
    found = count_costs(folder, load_pricing(table))
    money = {name: format_money(spent.money) for name, spent in found["model"].items()}
    assert money == {"openai:big": PRICE_UNKNOWN, "openai:small": "$0.0005"}
    assert money_per_solved(found["model"]["openai:big"], 2) == ""


def test_the_report_uses_the_price_table_of_the_command(folder: Path, prices: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    invoke("report", folder, "--out", page, "--prices", prices)
    (card,) = Page(page).all("dl", class_="key-facts")
    assert card.startswith("Result")
    assert "1 action (1 outside the episodes), " in card
    (section,) = Page(page).all("section", class_="cost")
    assert format_money(sum(expected(1).values())) in section
    assert "Outside the episodes, in learning and formulating: 1 call, 4,300 tokens" in section
    (section,) = reported(folder, out=page).all("section", class_="cost")
    assert "use --prices to give a table that lists it" in section
    refusal("report", folder, "--prices", tmp_path / "none.json")


def test_the_largest_cost_comes_first_and_columns_of_zeros_are_left_out(folder: Path) -> None:
    with closing(Run.open(folder)) as run:
        nodes: list[Any] = list(costs(read_run(run, "run")))
    (table,) = [node[1] for node in nodes if node[0] == "div.wide"]
    _, (_, head), (_, *rows) = table
    assert [row[1][1] for row in rows] == [
        *("role builder", "role planner"),
        *("model openai:big", "model openai:small"),
        *("prompt manage.j2", "prompt plan.j2", "prompt again.j2"),
        "all",
    ]
    assert ["th", "replayed"] not in head
    assert ["th", "cached prompt tokens"] in head
    assert {len(row) for row in rows} == {len(head)}


def test_estimated_tokens_are_marked_wherever_they_are_shown(tmp_path: Path) -> None:
    run = ("run", "--planner", "automanual", "--env", "toy", "--types", "fetch", "--seeds", 0, "--model", scripted())
    printed = invoke(*run, "--out", tmp_path / "run").printed
    assert " completion tokens (estimated);" in printed
    shown = invoke("show", tmp_path / "run", 0).printed
    assert " completion tokens (estimated), " in shown
    assert " tokens, estimated)" in shown
    page = reported(tmp_path / "run")
    assert " tokens (estimated), " in page.all("section", class_="overview")[0]
    cells = [cell for cell in page.all("td") if cell.endswith(" (estimated)")]
    assert len(cells) == 2 * 5, "by role, by model, by each of two prompts, and in all"
