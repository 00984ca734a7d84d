"""Budgets: a run stops when its budget is used up, and continues with a larger one."""

import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.flows import BUILD, asks, events, files, history, invoke, refusal, scripted, succeed
from tests.openai_server import Server, serving

PRICES = {"as_of": "2026-01-01", "models": {"served": {"input": 1000.0, "output": 1000.0}}}
SMALL = (*BUILD, "--types", "fetch", "--tasks-per-type", 4)


@pytest.fixture(scope="module")
def unlimited_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `planbook build` without a budget."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    succeed(*SMALL, "--out", folder)
    return folder


def spent(folder: Path) -> dict[str, int]:
    acts: list[Any] = [event.body for event in events(folder, "act")]
    usage = [each["reply"]["usage"] for each in asks(folder)]
    return {
        "calls": len(usage),
        "tokens": sum(each["prompt"] + each["completion"] for each in usage),
        "actions": sum(each["counted"] for each in acts),
    }


def test_all_roles_share_one_budget_and_a_part_is_reserved_for_the_manual(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    roles = ("planner", "builder", "consolidator", "formulator")
    models = [word for role in roles for word in ("--model", f"{role}={scripted()}")]
    command = ("build", "--env", "toy", "--types", "fetch", "--tasks-per-type", 4, *models)
    stopped = invoke(*command, "--budget", "calls=10", "--json", "--out", folder)
    assert stopped.returncode == 4
    assert "the budget of 10 calls is used up (1 call reserved for the manual)" in stopped.printed
    assert "The manual was written with the 10% of the budget reserved for it." in stopped.printed
    asked = [each["role"] for each in asks(folder)]
    assert (len(asked), set(asked), asked.count("formulator")) == (10, {"planner", "builder", "formulator"}, 1)
    assert json.loads((folder / "run.json").read_text())["budget"]["formulator"] == 0.1
    assert list((folder / "learned").rglob("manual.md"))
    note = f"The manual is older than the latest rules; rewrite it with: planbook formulate {folder}"
    assert note not in stopped.printed
    resumed = succeed("build", "--resume", folder, "--budget", "calls=100")
    assert note in resumed.printed
    assert not list((folder / "learned").rglob("manual.md")), "it described other rules"
    succeed("formulate", folder)
    assert note not in invoke("build", "--resume", folder).printed


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("tokens", 20_000),
        *(pytest.param(*each, marks=pytest.mark.deep) for each in (("calls", 1), ("calls", 9), ("actions", 3))),
    ],
)
def test_a_used_up_budget_ends_the_run_with_a_table_and_a_larger_one_finishes_it(
    tmp_path: Path, unlimited_run: Path, name: str, limit: int
) -> None:
    folder = tmp_path / "run"
    stopped = invoke(*SMALL, "--budget", f"{name}={limit}", "--budget", "formulator=0", "--json", "--out", folder)
    assert stopped.returncode == 4, stopped.printed
    assert f"the budget of {limit:,} {name.removesuffix('s') if limit == 1 else name}" in stopped.printed
    assert f"Resume with: planbook run --resume {folder} --budget {name}={2 * limit}" in stopped.printed
    summary = stopped.result
    assert summary["tasks"] == sum(tasks for _, tasks in summary["by_type"].values())
    assert summary["failures"]["not_run"] > 0
    assert summary["tasks"] + summary["left_out"] == 4
    used = spent(folder)[name]
    if name == "tokens":
        assert limit - 10_000 < used <= limit, "a call reserves the most that it may take"
    else:
        assert used == limit
    again = invoke("build", "--resume", folder, "--json")
    assert again.returncode == 4
    assert spent(folder)[name] == used, "the budget is kept, and nothing more is asked or done"
    assert again.result["model_calls"] == spent(folder)["calls"]
    resumed = succeed("run", "--resume", folder, "--budget", f"{name}={10**9}")
    printed = re.findall(r"Episode (\d+), fetch", stopped.printed + again.printed + resumed.printed)
    assert printed == ["0", "1", "2", "3"], "each episode is printed once, with what had been spent by then"
    assert history(folder) == history(unlimited_run)
    assert files(folder / "learned") == files(unlimited_run / "learned")


@pytest.mark.parametrize("executor", ["threads", "processes", pytest.param("ray", marks=pytest.mark.deep)])
def test_a_reply_that_is_arriving_when_the_budget_ends_is_awaited_and_recorded(
    tmp_path: Path, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, both = iter(range(9)), threading.Barrier(2)
    plan = "```python\nagent.open('box_1')\nagent.open('box_2')\n```"

    def answer(messages: object) -> str:
        """Return a short reply to the first request, and a long one to the second, when both have arrived."""
        is_long = next(numbers) > 0
        both.wait(60)
        return "I think. " * 100 * is_long + plan

    with serving(answer, pause=0.03) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        play = ("run", "--env", "toy", "--planner", "automanual", "--model", "openai:served", "--types", "fetch")
        parallel = ("--seeds", "0-1", "--jobs", 2, "--executor", executor)
        ended = invoke(*play, *parallel, "--budget", "actions=1", "--out", tmp_path / "run")
    assert ended.returncode == 4, ended.printed
    assert "the budget of 1 action is used up" in ended.printed
    assert (len(server.requests), server.hung_up) == (2, 0)
    assert spent(tmp_path / "run")["calls"] == 2


def test_formulating_a_manual_counts_against_the_runs_budget(tmp_path: Path, unlimited_run: Path) -> None:
    folder = tmp_path / "run"
    calls = spent(unlimited_run)["calls"]
    succeed(*SMALL, "--budget", f"calls={calls}", "--budget", "formulator=0", "--out", folder)
    stopped = invoke("formulate", folder, "--json")
    assert (stopped.returncode, stopped.result["manuals"]) == (4, [])
    assert f"the budget of {calls} calls is used up" in stopped.printed
    assert "Written: no manual" in stopped.printed
    finished = invoke("formulate", folder, "--budget", f"calls={calls + 1}", "--json")
    assert (finished.returncode, finished.result["model_calls"]) == (0, calls + 1)


def test_the_seconds_of_all_invocations_are_added_up(tmp_path: Path, unlimited_run: Path) -> None:
    folder = tmp_path / "run"
    stopped = invoke(*SMALL, "--budget", "seconds=0.02", "--out", folder)
    assert stopped.returncode == 4
    assert "the budget of 0.02 seconds is used up" in stopped.printed
    before = history(folder)
    assert invoke("run", "--resume", folder).returncode == 4
    assert history(folder) == before
    succeed("run", "--resume", folder, "--budget", "seconds=1000")
    assert history(folder) == history(unlimited_run)


def test_a_money_budget_for_a_model_without_a_price_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps(PRICES))
    unpriced = "openai:nobody-knows"
    for options in (
        ("--model", unpriced),
        ("--model", f"recorded:{tmp_path / 'tape'}+{unpriced}"),
        ("--model", unpriced, "--prices", prices),
    ):
        refused = refusal("build", "--env", "toy", *options, "--budget", "money=5", "--out", tmp_path / "run")
        assert "nobody-knows has no price, so --budget money=5" in refused
        assert not (tmp_path / "run").exists()


def test_a_run_keeps_its_price_table(tmp_path: Path, server: Server) -> None:
    prices, folder = tmp_path / "prices.json", tmp_path / "run"
    prices.write_text(json.dumps(PRICES))
    play = ("run", "--env", "toy", "--planner", "automanual", "--model", "openai:served", "--seeds", "0-1")
    assert invoke(*play, "--prices", prices, "--budget", "money=9", "--out", folder).returncode == 4
    prices.unlink()
    asked = len(server.requests)
    resumed = invoke("run", "--resume", folder)
    assert (resumed.returncode, len(server.requests)) == (4, asked), resumed.printed
    assert "other inputs" not in resumed.printed
    assert invoke(*play, "--budget", "money=9", "--out", folder).returncode == 4, (
        "the same command, with the run's prices"
    )
    finished = invoke("run", "--resume", folder, "--budget", "money=1000", "--json")
    again = invoke("rerun", folder, "--json", "--out", tmp_path / "again")
    tokens = spent(folder)["tokens"]
    assert finished.result["money"] == pytest.approx(tokens / 1000)
    (row,) = invoke("stats", folder, "--json").result["rows"]
    assert row["money"] == pytest.approx(tokens / 1000)
    assert again.result["differed"] == []
    assert invoke("stats", tmp_path / "again", "--json").result["rows"][0]["money"] > 0


def test_the_mean_cost_of_a_task_leaves_out_episodes_that_have_not_ended(tmp_path: Path) -> None:
    command = ("run", "--env", "toy", "--split", "all:6", "--planner", "automanual", "--model", scripted())
    whole = invoke(*command, "--budget", "calls=4", "--out", tmp_path / "whole").printed
    (mean,) = re.findall(r"2\.0 calls and \S+ tokens per task", whole)
    begun = invoke(*command, "--budget", "calls=5", "--out", tmp_path / "begun").printed
    assert "5 model calls; " in begun
    assert mean.replace("per task", "per finished task") in begun
