"""Models that fail, models whose replies are unusable, and recordings without an answer."""

from pathlib import Path
from typing import Any

import pytest

from tests.flows import BUILD, Finished, asks, events, files, history, invoke, prompt, scripted, succeed, without_times
from tests.openai_server import Refusal, Server

SMALL = ("--types", "fetch", "--tasks-per-type", "2", "--no-procedures")
SERVED = ("build", "--env", "toy", "--model", "openai:served", *SMALL)
BROKEN = Refusal(500, "out of order")
TOO_LONG = Refusal(400, "too long", code="context_length_exceeded")


def assert_one_line(failed: Finished, code: int, *messages: str) -> None:
    assert failed.returncode == code
    assert failed.stderr.count("planbook: ") == 1
    assert "Traceback" not in failed.stderr
    for message in messages:
        assert message in failed.printed


@pytest.mark.parametrize(
    ("trouble", "messages"),
    [
        (
            BROKEN,
            ("failed after 7 requests", "out of order", "Once this is solved, resume with: planbook run --resume"),
        ),
        pytest.param(TOO_LONG, ("the prompt is longer than it accepts",), marks=pytest.mark.deep),
    ],
)
def test_a_failing_server_stops_the_run_and_a_resumed_run_asks_nothing_twice(
    tmp_path: Path, server: Server, trouble: Refusal, messages: tuple[str, ...]
) -> None:
    folder = tmp_path / "run"
    command = (*SERVED, "--out", folder)
    assert invoke(*command, "--budget", "calls=2").returncode == 4
    server.troubles += [trouble] * 50
    failed = invoke(*command, "--budget", "calls=1000")
    assert_one_line(failed, 3, *messages, f"resume with: planbook run --resume {folder}")
    assert len(asks(folder)) == 2
    server.troubles.clear()
    before = len(server.requests)
    succeed("run", "--resume", folder)
    assert len(server.requests) - before == len(asks(folder)) - 2
    invoke(*BUILD, *SMALL, "--out", tmp_path / "undisturbed")
    assert rules(folder) == rules(tmp_path / "undisturbed")


def rules(folder: Path) -> str:
    return files(folder / "learned")["toy/rules.json"]


def test_unusable_plans_fail_every_task_and_the_builder_learns_from_them(tmp_path: Path) -> None:
    model = ("--model", f"planner={scripted('rubbish')}", "--tasks-per-type", 2)
    finished = succeed(*BUILD, *model, "--json", "--out", tmp_path / "run")
    summary = finished.result
    assert (summary["tasks"], summary["solved"], summary["failures"]) == (4, 0, {"parse": 4})
    assert len(asks(tmp_path / "run", "planner", "automanual/task")) == 4 * 3, "each plan is asked for three times"
    assert "The task was not done." in prompt(asks(tmp_path / "run", "builder")[0])
    assert len(events(tmp_path / "run", "learned", "learn")) == 4


def test_unusable_edits_and_procedures_are_reported_and_change_no_rule(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    models = ("--model", f"builder={scripted('rubbish')}", "--model", f"planner={scripted('no_procedure')}")
    finished = invoke(*BUILD, "--types", "fetch", "--tasks-per-type", 2, *models, "--json", "--out", folder)
    assert (finished.returncode, finished.result["solved"]) == (0, 2), finished.printed
    assert finished.printed.count("Not learned: task/") == 2
    assert "the builder gave no usable reply to builder/classify" in finished.printed
    found = invoke("rules", folder, "--json").result
    assert (found["changes"], [rule["id"] for rule in found["rules"]]) == (0, ["rule_0", "rule_1", "rule_2"])
    assert "0 procedures" in finished.printed
    assert not (folder / "learned" / "toy" / "procedures").exists()


def test_unusable_replies_of_the_consolidator_and_the_formulator_change_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    manual = folder / "learned" / "toy" / "manual.md"
    consolidator = ("--model", f"consolidator={scripted('rubbish')}", "--max-rules", 1)
    succeed(*BUILD, *SMALL, *consolidator, "--out", folder)
    assert asks(folder, "consolidator")
    assert "consolidator" not in invoke("rules", folder, "log").stdout
    failed = invoke("formulate", folder, "--model", f"formulator={scripted('rubbish')}")
    assert_one_line(failed, 2, "the formulator gave no usable reply to formulate")
    assert not manual.exists()
    assert len(asks(folder, "formulator")) == 3
    succeed("formulate", folder)
    assert manual.exists()
    assert len(asks(folder, "formulator")) == 4


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A recording of a run of `planbook build`, and the folder of that run."""
    folder = tmp_path_factory.mktemp("recorded")
    recording = folder / "recording.jsonl"
    model = f"recorded:{recording}+{scripted()}"
    succeed("build", "--env", "toy", "--model", model, "--out", folder / "run")
    succeed("formulate", folder / "run")
    return recording, folder / "run"


def test_a_recording_replays_the_whole_build_without_a_live_call(tmp_path: Path, recorded: tuple[Path, Path]) -> None:
    recording, run = recorded
    before = recording.read_text()
    again = tmp_path / "run"
    finished = succeed("build", "--env", "toy", "--model", f"recorded:{recording}", "--json", "--out", again)
    assert finished.result["replayed_calls"] == finished.result["model_calls"] == 23
    succeed("formulate", again)
    assert files(again / "learned") == files(run / "learned")
    assert recording.read_text() == before
    live, replayed = (without_times(invoke("run", "--resume", each, "--json").result) for each in (run, again))
    assert {**live, "replayed_calls": 24} == replayed
    assert without_replies(history(again)) == without_replies(history(run))


def without_replies(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [row for row in rows if row[1] != "ask"]


def test_a_prompt_without_a_recorded_reply_is_named_and_can_be_recorded_later(
    tmp_path: Path, recorded: tuple[Path, Path]
) -> None:
    recording, folder = tmp_path / "recording.jsonl", tmp_path / "run"
    lines = recorded[0].read_text().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if '"builder: builder/carry_on.j2"' in line)
    key, data = (lines[place].split(f'"{name}":"')[1][:64] for name in ("key", "data"))
    lines[place] = lines[place].replace(key, "0" * 64).replace(data, "0" * 64)
    recording.write_text("".join(lines))
    command = ("build", "--env", "toy", "--model", f"recorded:{recording}", "--out", folder)
    assert_one_line(invoke(*command), 3, "has no answer to this prompt (builder: builder/carry_on.j2)", "+MODEL")
    assert len(asks(folder)) == place - 1, "the first line is the header"
    recording.write_text(recorded[0].read_text())
    succeed(*command)
    assert rules(folder) == rules(recorded[1])
