"""Models that fail, and models that answer nothing of use."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planbook.planner.models import openai_api
from tests.flows import BUILD, Finished, asks, events, files, here, history, prompt, scripted, table
from tests.openai_server import Refusal, Server, serving
from tests.toy_script import served_answer

SMALL = ("--types", "fetch", "--tasks-per-type", "2", "--no-procedures")
SERVED = ("build", "--env", "toy", "--model", "openai:served", *SMALL)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(served_answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "the-key")
        monkeypatch.setattr(openai_api, "MAX_BACK_OFF", 0.01)
        yield server


def assert_one_line(failed: Finished, code: int, *messages: str) -> None:
    assert failed.returncode == code
    assert failed.stderr.count("planbook: ") == 1
    assert "Traceback" not in failed.stderr
    for each in messages:
        assert each in failed.printed


@pytest.mark.parametrize(
    ("well_for", "trouble", "messages"),
    [
        (
            2,
            Refusal(500, "out of order"),
            ("failed after 7 requests", "out of order", "Then resume with: planbook run --resume"),
        ),
        *(
            pytest.param(*each, marks=pytest.mark.deep)
            for each in (
                (0, Refusal(500, "out of order"), ("failed after 7 requests",)),
                (0, Refusal(401, "no such key"), ("refuses the request", "OPENAI_API_KEY")),
                (3, Refusal(400, "too long", code="context_length_exceeded"), ("the prompt is longer than it takes",)),
            )
        ),
    ],
)
def test_a_server_that_fails_stops_the_run_which_goes_on_when_it_is_well(
    tmp_path: Path, server: Server, well_for: int, trouble: Refusal, messages: tuple[str, ...]
) -> None:
    folder = tmp_path / "run"
    command = (*SERVED, "--out", folder)
    if well_for:
        assert here(*command, "--budget", f"calls={well_for}").returncode == 4
    server.troubles += [trouble] * 50
    failed = here(*command, "--budget", "calls=1000")
    assert_one_line(failed, 3, *messages, f"resume with: planbook run --resume {folder}")
    assert len(asks(folder)) == well_for
    server.troubles.clear()
    before = len(server.requests)
    assert here("run", "--resume", folder).returncode == 0
    assert len(server.requests) - before == len(asks(folder)) - well_for, "nothing is asked twice"
    here(*BUILD, *SMALL, "--out", tmp_path / "undisturbed")
    assert rules(folder) == rules(tmp_path / "undisturbed")


def rules(folder: Path) -> str:
    return files(folder / "learnt")["toy/rules.json"]


def test_a_planner_that_talks_rubbish_fails_every_task_by_parse(tmp_path: Path) -> None:
    """The Builder is asked about a failed episode even if no reply had a plan."""
    rubbish = ("--model", f"planner={scripted('rubbish')}", "--tasks-per-type", 2)
    finished = here(*BUILD, *rubbish, "--json", "--out", tmp_path / "r")
    assert finished.returncode == 0, finished.printed
    summary = finished.result
    assert (summary["tasks"], summary["solved"], summary["failures"]) == (4, 0, {"parse": 4})
    assert len(asks(tmp_path / "r", "planner", "automanual/task")) == 4 * 3, "asked again twice"
    assert "The task was not done." in prompt(asks(tmp_path / "r", "builder")[0])
    assert len(events(tmp_path / "r", "learnt", "learn")) == 4
    tested = here("test", "--env", "toy", "--model", scripted("rubbish"), "--json", "--out", tmp_path / "t")
    assert (tested.returncode, tested.result["failures"]) == (0, {"parse": 12})


def test_a_builder_that_talks_rubbish_changes_no_rule_and_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    finished = here(*BUILD, *SMALL, "--model", f"builder={scripted('rubbish')}", "--json", "--out", folder)
    assert finished.returncode == 0, finished.printed
    assert finished.result["solved"] == 2
    assert finished.printed.count("Not learned: episode ") == 2
    assert "the builder gave no usable reply to builder/classify" in finished.printed
    found = here("rules", folder, "--json").result
    assert (found["changes"], [rule["id"] for rule in found["rules"]]) == (0, ["rule_0", "rule_1", "rule_2"])


def test_a_consolidator_that_talks_rubbish_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = (*BUILD, *SMALL, "--model", f"consolidator={scripted('rubbish')}", "--max-rules", 1)
    assert here(*command, "--out", folder).returncode == 0
    assert asks(folder, "consolidator")
    assert "consolidator" not in here("rules", folder, "log").stdout


def test_a_formulator_that_talks_rubbish_is_an_error_and_another_model_can_be_asked(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert here(*BUILD, *SMALL, "--out", folder).returncode == 0
    failed = here("formulate", folder, "--model", f"formulator={scripted('rubbish')}")
    assert_one_line(failed, 2, "the formulator gave no usable reply to formulate")
    assert not (folder / "learnt" / "toy" / "manual.md").exists()
    assert len(asks(folder, "formulator")) == 3
    assert here("formulate", folder).returncode == 0
    assert (folder / "learnt" / "toy" / "manual.md").exists()
    assert len(asks(folder, "formulator")) == 4


def test_a_generaliser_that_talks_rubbish_leaves_the_type_without_a_procedure(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = (*BUILD, "--types", "fetch", "--tasks-per-type", "2", "--model", f"planner={scripted('no_procedure')}")
    finished = here(*command, "--json", "--out", folder)
    assert (finished.returncode, finished.result["solved"]) == (0, 2)
    assert not (folder / "learnt" / "toy" / "procedures").exists()
    assert "0 procedures" in finished.printed


@pytest.fixture(scope="module")
def taped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A recording of a building run, and the run."""
    folder = tmp_path_factory.mktemp("taped")
    tape = folder / "tape.jsonl"
    model = f"recorded:{tape}+{scripted()}"
    assert here("build", "--env", "toy", "--model", model, "--out", folder / "run").returncode == 0
    assert here("formulate", folder / "run").returncode == 0
    return tape, folder / "run"


def test_a_recording_replays_the_whole_build_without_a_live_call(tmp_path: Path, taped: tuple[Path, Path]) -> None:
    tape, run = taped
    before = tape.read_text()
    command = ("build", "--env", "toy", "--model", f"recorded:{tape}", "--json", "--out", tmp_path / "run")
    finished = here(*command)
    assert finished.returncode == 0, finished.printed
    summary = finished.result
    assert summary["replayed_calls"] == summary["model_calls"] == 23
    assert here("formulate", tmp_path / "run").returncode == 0
    assert files(tmp_path / "run" / "learnt") == files(run / "learnt")
    assert tape.read_text() == before
    live = table(here("run", "--resume", run, "--json").result)
    replayed = table(here("run", "--resume", tmp_path / "run", "--json").result)
    assert {**live, "replayed_calls": 24} == replayed
    assert without_replies(history(tmp_path / "run")) == without_replies(history(run))


def without_replies(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [row for row in rows if row[1] != "ask"]


def test_another_seed_is_not_in_the_recording_and_the_template_is_named(
    tmp_path: Path, taped: tuple[Path, Path]
) -> None:
    tape, _ = taped
    command = ("build", "--env", "toy", "--model", f"recorded:{tape}", "--seed", 5, "--out", tmp_path / "run")
    assert_one_line(here(*command), 3, "has no answer to this prompt of planner: automanual/task.j2", "+MODEL")


def test_a_prompt_that_changed_is_missed_by_its_template_and_can_be_recorded_then(
    tmp_path: Path, taped: tuple[Path, Path]
) -> None:
    tape, folder = tmp_path / "tape.jsonl", tmp_path / "run"
    lines = taped[0].read_text().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if '"builder: builder/carry_on.j2"' in line)
    key = lines[place].split('"key":"')[1][:64]
    data = lines[place].split('"data":"')[1][:64]
    lines[place] = lines[place].replace(key, "0" * 64).replace(data, "0" * 64)
    tape.write_text("".join(lines))
    command = ("build", "--env", "toy", "--model", f"recorded:{tape}", "--out", folder)
    assert_one_line(here(*command), 3, "has no answer to this prompt of builder: builder/carry_on.j2")
    asked = len(asks(folder))
    assert asked == place - 1, "one line is the header"
    tape.write_text(taped[0].read_text())
    assert here(*command).returncode == 0
    assert files(folder / "learnt")["toy/rules.json"] == files(taped[1] / "learnt")["toy/rules.json"]
