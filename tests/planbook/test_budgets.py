"""What a run may spend: it stops there, cleanly, and goes on when it may spend more."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.flows import BUILD, asks, events, files, here, history, scripted, table

PRICES = {"as_of": "2026-01-01", "models": {"served": {"input": 1000.0, "output": 1000.0}}}
"""A dollar for a thousand tokens."""

SMALL = (*BUILD, "--types", "fetch", "--tasks-per-type", 4)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing stops."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert here(*SMALL, "--out", folder).returncode == 0
    return folder


def spent(folder: Path) -> dict[str, int]:
    acts: list[Any] = [event.body for event in events(folder, "act")]
    usage = [each["reply"]["usage"] for each in asks(folder)]
    return {
        "calls": len(usage),
        "tokens": sum(each["prompt"] + each["completion"] for each in usage),
        "actions": sum(each["counted"] for each in acts),
    }


def test_a_build_whose_budget_ends_writes_its_manual_with_what_was_kept_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    stopped = here(*SMALL, "--budget", "calls=10", "--json", "--out", folder)
    assert stopped.returncode == 4
    assert "the budget of 10 calls is used up (1 call kept for the manual)" in stopped.printed
    assert "The manual was written with the 10% of the budget kept for it." in stopped.printed
    assert spent(folder)["calls"] == 10
    assert len(asks(folder, "formulator")) == 1
    assert json.loads((folder / "run.json").read_text())["budget"]["formulator"] == 0.1
    assert list((folder / "learnt").rglob("manual.md"))


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("tokens", 20_000),
        *(
            pytest.param(*each, marks=pytest.mark.deep)
            for each in (("calls", 1), ("calls", 4), ("calls", 9), ("actions", 3), ("actions", 30))
        ),
    ],
)
def test_a_budget_ends_the_run_with_a_table_and_a_larger_one_goes_on_to_the_same_end(
    tmp_path: Path, whole: Path, name: str, limit: int
) -> None:
    folder = tmp_path / "run"
    stopped = here(*SMALL, "--budget", f"{name}={limit}", "--budget", "formulator=0", "--json", "--out", folder)
    assert stopped.returncode == 4, stopped.printed
    assert f"the budget of {limit:,} {name.removesuffix('s') if limit == 1 else name}" in stopped.printed
    assert f"Resume with: planbook run --resume {folder} --budget {name}={2 * limit}" in stopped.printed
    summary = stopped.result
    assert summary["tasks"] == sum(tasks for _, tasks in summary["by_type"].values())
    assert summary["failures"]["not_run"] > 0
    assert summary["tasks"] + summary["left_out"] == 4
    used = spent(folder)[name]
    if name == "tokens":
        assert limit - 10_000 < used <= limit, "what a call may take at most is reserved before it"
    else:
        assert used == limit
    at_once = here("build", "--resume", folder, "--json")
    assert at_once.returncode == 4
    assert spent(folder)[name] == used, "the budget is kept, and nothing more is asked or done"
    assert at_once.result["model_calls"] == spent(folder)["calls"]
    resumed = here("run", "--resume", folder, "--budget", f"{name}={10**9}")
    assert resumed.returncode == 0
    told = re.findall(r"Episode (\d+), fetch", stopped.printed + at_once.printed + resumed.printed)
    assert told == ["0", "1", "2", "3"], "each episode is told once, with what had been spent by then"
    assert history(folder) == history(whole)
    assert files(folder / "learnt") == files(whole / "learnt")


def test_all_roles_spend_of_the_one_budget(tmp_path: Path) -> None:
    models = [word for role in "planner builder consolidator".split() for word in ("--model", f"{role}={scripted()}")]
    folder = tmp_path / "run"
    stopped = here("build", "--env", "toy", "--no-procedures", *models, "--budget", "calls=6", "--out", folder)
    assert stopped.returncode == 4
    roles = [each["role"] for each in asks(folder)]
    assert len(roles) == 6
    assert set(roles) == {"planner", "builder"}


def test_formulating_spends_of_the_runs_budget_too(tmp_path: Path, whole: Path) -> None:
    folder = tmp_path / "run"
    calls = spent(whole)["calls"]
    assert here(*SMALL, "--budget", f"calls={calls}", "--budget", "formulator=0", "--out", folder).returncode == 0
    stopped = here("formulate", folder, "--json")
    assert stopped.returncode == 4
    assert f"the budget of {calls} calls is used up" in stopped.printed
    assert stopped.result["manuals"] == []
    assert "Written: no manual" in stopped.printed
    done = here("formulate", folder, "--budget", f"calls={calls + 1}", "--json")
    assert (done.returncode, done.result["model_calls"]) == (0, calls + 1)


def test_a_test_run_stops_at_its_budget_too(tmp_path: Path, whole: Path) -> None:
    command = ("test", "--env", "toy", "--types", "fetch", "--library", whole, "--model", scripted(), "--json")
    stopped = here(*command, "--jobs", 2, "--budget", "calls=5", "--out", tmp_path / "run")
    assert (stopped.returncode, stopped.result["model_calls"], stopped.result["tasks"]) == (4, 5, 6)
    assert here("run", "--resume", tmp_path / "run", "--budget", "calls=100").returncode == 0
    undisturbed = here(*command, "--out", tmp_path / "undisturbed")
    resumed = here("run", "--resume", tmp_path / "run", "--json")
    assert table(resumed.result) == table(undisturbed.result)


def test_seconds_are_counted_over_all_invocations(tmp_path: Path, whole: Path) -> None:
    folder = tmp_path / "run"
    stopped = here(*SMALL, "--budget", "seconds=0.02", "--out", folder)
    assert stopped.returncode == 4
    assert "the budget of 0.02 seconds is used up" in stopped.printed
    before = history(folder)
    assert here("run", "--resume", folder).returncode == 4
    assert history(folder) == before
    assert here("run", "--resume", folder, "--budget", "seconds=1000").returncode == 0
    assert history(folder) == history(whole)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(PRICES))
    return path


def test_money_for_a_model_without_a_price_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prices: Path
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    for model in ("openai:nobody-knows", f"recorded:{tmp_path / 'tape'}+openai:nobody-knows"):
        refused = here("build", "--env", "toy", "--model", model, "--budget", "money=5", "--out", tmp_path / "run")
        assert refused.returncode == 2
        assert "nobody-knows has no price, so --budget money=5" in refused.printed
        assert "--prices FILE" in refused.printed
        assert not (tmp_path / "run").exists()
    other = here("build", "--env", "toy", "--model", "openai:nobody-knows", "--budget", "money=5", "--prices", prices)
    assert other.returncode == 2, "the user's table has no price for it either"


def test_money_does_not_matter_where_nothing_costs_any(tmp_path: Path, whole: Path) -> None:
    assert here(*SMALL, "--budget", "money=0.01", "--out", tmp_path / "run").returncode == 0
    assert history(tmp_path / "run") == history(whole)
