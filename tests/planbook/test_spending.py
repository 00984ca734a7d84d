"""What a run has spent according to its events equals what its meter counted.

An `invocation` event marks the beginning or the end of an invocation of planbook.
"""

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config, InvocationSettings
from planbook.envs import Action, Observation, Selection
from planbook.errors import BadArgument
from planbook.planner import (
    Body,
    Budget,
    BudgetEnded,
    EventKind,
    Meter,
    NoMemory,
    Reply,
    Sampling,
    Spending,
    Step,
    Usage,
)
from planbook.planner.budget import add_cost
from planbook.results import RunResults
from planbook.runs import Run
from planbook.spending import check_money, load_pricing, spent_so_far
from planbook.store import Event
from planbook.workers import play_episodes
from tests.rows import new_run


def event(kind: str, at: float, body: object = None) -> Event:
    return Event("run", kind, 0, body or {}, at)  # type: ignore[arg-type]


def act(at: float, counted: bool = True) -> Event:
    step = Step(scope="task/0", cell=0, line=1, action=Action("look"), observation=Observation(""), counted=counted)
    return Event("task/0", "act", 0, step.model_dump(mode="json"), at)


def ask(
    at: float,
    *,
    prompt: int = 10,
    completion: int = 5,
    replayed: bool = False,
    model: str = "paid",
    left_out: int = 0,
    cut: int = 0,
) -> Event:
    reply = Reply(text="", usage=Usage(prompt=prompt, completion=completion), replayed=replayed)
    asked = {"role": "planner", "template": "task.j2", "sampling": Sampling().model_dump(), "messages": []}
    body = {**asked, "model": model, "left_out": left_out, "cut_characters": cut, "reply": reply.model_dump()}
    return event("ask", at, body)


def price(model: str, reply: Reply) -> float | None:
    return {"paid": 0.01, "free": 0.0}.get(model)


INVOCATION_END = event("invocation", 3.0, {"over": True})
TASKS_LISTED = [event("task", 1_000.0), event("task", 1_000.0)]


@pytest.mark.parametrize(
    ("events", "seconds"),
    [
        ([], 0.0),
        ([*TASKS_LISTED, event("invocation", 1_001.0)], 0.0),
        ([*TASKS_LISTED, event("invocation", 1_001.0), act(1_004.0)], 3.0),
        ([*TASKS_LISTED, event("invocation", 1_001.0), act(1_004.0), event("invocation", 9_000.0), act(9_002.5)], 5.5),
        ([event("invocation", 0.0), act(2.0), event("invocation", 5.0), act(6.0)], 3.0),
        ([event("invocation", 0.0), act(2.0), INVOCATION_END, event("invocation", 500.0), act(501.0)], 4.0),
        ([event("invocation", 1_001.0), act(1_004.0), event("invocation", 1_006.0, {"over": True})], 5.0),
        ([event("invocation", 0.0), act(5.0), act(1.0), act(6.0), act(2.0)], 6.0),
        # the clock was set back by an hour
        ([event("invocation", 9_000.0), event("invocation", 5_410.0, {"over": True, "seconds": 10.0})], 10.0),
        ([event("invocation", 9_000.0), act(5_410.0), event("invocation", 5_500.0), act(5_502.0)], 2.0),
    ],
)
def test_only_time_within_invocations_counts(tmp_path: Path, events: list[Event], seconds: float) -> None:
    assert spent_so_far(events, price).seconds == pytest.approx(seconds)
    with closing(new_run(tmp_path / "run", "fetch")) as run:
        results = RunResults.empty(run, "run")
        for each in events:
            results.take(each)
        assert results.seconds == pytest.approx(seconds), "the report shows the same time"
        assert results.episodes[0].seconds >= 0


@pytest.mark.parametrize("seed", range(5))
def test_events_and_meter_count_the_same(seed: int) -> None:
    rng = random.Random(seed)
    meter, rows = Meter(price=price), []
    for _ in range(50):
        row = act(0.0, rng.random() < 0.8)
        if rng.random() < 0.5:
            model = rng.choice(["paid", "free"])
            row = ask(0.0, prompt=rng.randrange(99), replayed=rng.random() < 0.3, model=model)
        rows.append(row)
        meter.count(row.kind, row.body)  # type: ignore[arg-type]
    counted = meter.spent.model_copy(update={"seconds": 0.0})
    assert spent_so_far(rows, price) == counted
    assert counted.calls == sum(row.kind == "ask" for row in rows)
    assert counted.tokens == counted.prompt + counted.completion > 0


def test_other_events_cost_nothing_and_unknown_prices_stay_unknown() -> None:
    assert add_cost(Spending(calls=1), "cell", {}, price) == Spending(calls=1)
    spent = add_cost(Spending(money=1.0), "ask", ask(0.0, model="unheard of").body, price)
    assert spent.money is None
    assert add_cost(spent, "ask", ask(0.0).body, price).money is None


def test_prompts_that_were_cut_are_counted() -> None:
    rows = [ask(0.0), ask(0.0, left_out=2), ask(0.0, cut=9), ask(0.0, left_out=1, cut=9)]
    assert spent_so_far(rows, price).shortened == 3


def test_recordings_scripts_and_exchanges_cost_nothing() -> None:
    price = load_pricing(None)
    for model in ("scripted:FILE.py:answer", "exchange:folder", "recorded:file.jsonl"):
        assert price(model, Reply(text="", usage=Usage(prompt=10**6))) == 0.0
    assert price("openai:gpt-4o-mini", Reply(text="", replayed=True, usage=Usage(prompt=10**6))) == 0.0
    assert price("openai:gpt-4o-mini", Reply(text="", usage=Usage(prompt=10**6))) == pytest.approx(0.15)


@pytest.mark.parametrize("listed", ["paid.py:answer", "scripted:paid.py:answer"])
def test_a_script_has_the_price_that_the_table_names(tmp_path: Path, listed: str) -> None:
    table = tmp_path / "prices.json"
    table.write_text(f'{{"models": {{"{listed}": {{"input": 1, "output": 2}}}}}}')
    million = Reply(text="", usage=Usage(prompt=10**6))
    for model in ("scripted:paid.py:answer", "scripted:/folder/paid.py:answer"):
        assert load_pricing(table)(model, million) == pytest.approx(1)
        check_money([model], Budget(money=1), table)
    for model in ("scripted:free.py:answer", "exchange:folder"):
        assert load_pricing(table)(model, million) == 0
        with pytest.raises(BadArgument, match=f"{model} has no price, so --budget money=1"):
            check_money([model], Budget(money=1), table)
    check_money(["recorded:file.jsonl"], Budget(money=1), table)


@pytest.mark.parametrize("listed", ["mine", "openai:mine"])
def test_a_price_table_may_name_a_model_with_or_without_its_kind(tmp_path: Path, listed: str) -> None:
    table = tmp_path / "prices.json"
    table.write_text(f'{{"models": {{"{listed}": {{"input": 1, "output": 2}}}}}}')
    million = Reply(text="", usage=Usage(prompt=10**6))
    for model in ("openai:mine", "recorded:file.jsonl+openai:mine", "openai:mine-2026-01-31"):
        assert load_pricing(table)(model, million) == pytest.approx(1)
        check_money([model], Budget(money=1), table)
    with pytest.raises(BadArgument, match="openai:mine-large has no price"):
        check_money(["openai:mine-large"], Budget(money=1), table)


def test_a_budget_that_earlier_invocations_used_up_ends_the_run(tmp_path: Path) -> None:
    config = Config(planner="procedures", env="toy", actions=30, selection=Selection(limit=1))
    run = Run.create(tmp_path / "run", config, config.environment.tasks(config.selection))
    run.begin_invocation(InvocationSettings(budget=Budget(calls=1, actions=1)))
    with run.meter.reserve("paid", Usage()):
        run.journal("task/0").put("task/0", "ask", 0, ask(0.0).body)
    run.journal("task/1").put("task/1", "act", 0, act(0.0).body)
    with pytest.raises(BudgetEnded, match="1 call is used up"), run.meter.reserve("paid", Usage()):
        pass
    run.close()
    again = Run.create(tmp_path / "run", config, config.environment.tasks(config.selection))
    again.begin_invocation()
    with pytest.raises(BudgetEnded, match="budget of 1 call is used up"), again.meter.reserve("paid", Usage()):
        pass
    with pytest.raises(BudgetEnded, match="budget of 1 action is used up"):
        again.meter.before_action()
    again.close()


def begin_run(folder: Path) -> Run:
    """Begin a run of two tasks with a model."""
    script = folder.parent / "script.py"
    script.write_text("def answer(messages, sampling):\n    return 'print(agent.table())'\n")
    models, tasks = {"default": f"scripted:{script}:answer"}, Selection(ids=("fetch/0", "fetch/1"))
    config = Config(planner="automanual", env="toy", actions=5, selection=tasks, models=models)
    run = Run.create(folder, config, config.environment.tasks(config.selection))
    run.begin_invocation()
    return run


def test_the_calls_of_a_lost_process_that_had_joined_the_run_count(tmp_path: Path) -> None:
    """This process plays the first episode, and continues the other process's episode after its first call."""
    with closing(begin_run(tmp_path / "whole")) as whole:
        assert play_episodes(whole, NoMemory(), lambda entry, ending: None)
        events, calls = list(whole.store.events("task/1")), whole.meter.spent.calls
    first_call = next(number for number, each in enumerate(events) if each.kind == "ask")
    recorded: list[Any] = [(each.scope, each.kind, each.n, each.body) for each in events[: first_call + 1]]
    with closing(begin_run(tmp_path / "shared")) as shared:

        def watch(kind: EventKind, body: Body) -> None:
            if kind == "outcome" and recorded:
                shared.store.put_all(recorded)
                recorded.clear()

        assert play_episodes(shared, NoMemory(), lambda entry, ending: None, on_event=watch)
        assert shared.meter.spent.calls == calls
