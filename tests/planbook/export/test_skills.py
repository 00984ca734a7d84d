"""Learned procedures as Agent Skills: `planbook skills export` and `planbook skills verify`."""

import json
import re
import shlex
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.export.verification import read_evidence, verified_skill
from planbook.planner import Ending, Outcome
from planbook.runs import Run
from tests.command import ROOT, planbook
from tests.flows import BUILD, Finished, files, invoke, refusal, scripted, succeed


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "run"
    succeed(*BUILD, "--tasks-per-type", 2, "--verify", "all:2", "--out", folder)
    return folder


@pytest.fixture(scope="module")
def exported(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("skills")
    succeed("skills", "export", built, "--out", folder)
    return folder


@pytest.fixture
def skill(exported: Path, tmp_path: Path) -> Path:
    """A copy of a skill, which a test may change."""
    return Path(shutil.copytree(exported / "toy-fetch", tmp_path / "toy-fetch"))


def evidence(skill: Path) -> Any:
    return json.loads((skill / "evidence.json").read_text())


def change(folder: Path, **facts: Any) -> None:
    """Change the evidence of a skill, the record of its verification."""
    (folder / "evidence.json").write_text(json.dumps(evidence(folder) | facts))


def verify(folder: Path) -> Finished:
    return invoke("skills", "verify", folder, "--out", folder.parent / "again", "--json")


def test_the_reference_validator_accepts_every_skill(exported: Path) -> None:
    validate = pytest.importorskip("skills_ref.validator").validate
    skills = sorted(exported.iterdir())
    assert [skill.name for skill in skills] == ["toy-fetch", "toy-fetch-two"]
    assert [validate(skill) for skill in skills] == [[], []]


def test_a_skill_has_the_code_the_manual_and_the_evidence(exported: Path, built: Path) -> None:
    skill = exported / "toy-fetch"
    assert files(skill).keys() == {"SKILL.md", "evidence.json", "references/manual.md", "scripts/solve.py"}
    learned = built / "learned" / "toy" / "procedures" / "fetch.py"
    assert (skill / "scripts" / "solve.py").read_text() == learned.read_text().replace(f"{ROOT}/tests/", "")
    manual = (skill / "references" / "manual.md").read_text()
    assert "When a thing is looked for, look into every box." in manual
    assert manual.replace("\n", "").isprintable()
    found = evidence(skill)
    assert (found["env"], found["task_type"], found["run"]) == ("toy", "fetch", "run")
    assert {each["task"]["type"] for each in found["tasks"]} == {"fetch"}
    assert len(found["tasks"]) >= 3, "the building task, and two that were set aside"
    assert {each["outcome"] for each in found["tasks"]} == {"direct_success"}


def test_a_procedure_that_now_fails_is_reported_with_its_tasks(skill: Path) -> None:
    script = skill / "scripts" / "solve.py"
    script.write_text(script.read_text().replace("agent.put(thing)", "pass"))
    finished = verify(skill)
    assert finished.returncode == 1
    (found,) = finished.result["skills"]
    assert found["changed_files"] == ["scripts/solve.py"]
    assert found["changed"] == [each["task"]["id"] for each in evidence(skill)["tasks"]]


def test_changed_texts_are_reported_even_if_every_verdict_holds(skill: Path) -> None:
    for name in ("SKILL.md", "references/manual.md"):
        (skill / name).write_text("Something else.")
    finished = verify(skill)
    assert finished.returncode == 1
    assert finished.result["skills"][0]["changed"] == []
    assert "changed files: SKILL.md, references/manual.md" in finished.printed


def test_a_skill_is_not_verified_in_another_environment(skill: Path) -> None:
    refused = refusal("skills", "verify", skill, "--env", "textcraft")
    assert f"{skill} is a skill for the environment 'toy', not 'textcraft'; name 'toy' with --env" in refused


def test_a_procedure_of_an_earlier_run_is_not_exported(built: Path, tmp_path: Path) -> None:
    grown = ("build", "--env", "toy", "--library", built, "--task", "fetch/3", "--libraries-only", "--no-procedures")
    succeed(*grown, "--model", scripted(), "--out", tmp_path / "more")
    assert "fetch: it comes from the library, and this run did not verify it; export" in refusal(
        "skills", "export", tmp_path / "more"
    )


def test_a_verification_that_broke_before_its_episode_began_is_no_evidence(built: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(built, tmp_path / "run"))
    with closing(Run.open(run, to_play=True)) as opened:
        broken = Ending(outcome=Outcome.BROKEN, cause="broken").model_dump(mode="json")
        opened.store.put("learn/0/procedure/0/verification/9/task/0", "outcome", 0, broken)
    exported = succeed("skills", "export", run, "--json")
    assert exported.result["skills"].keys() == {"toy-fetch", "toy-fetch-two"}


def test_a_folder_that_is_no_skill_or_building_run_is_refused(skill: Path, tmp_path: Path) -> None:
    invoke("run", "--env", "toy", "--split", "all:1", "--out", tmp_path / "run")
    assert "is not a run of `planbook build`" in refusal("skills", "export", tmp_path / "run")
    assert "holds no skill" in refusal("skills", "verify", tmp_path / "run")
    unreadable = f"{skill / 'evidence.json'} cannot be read as the evidence of a skill"
    (skill / "evidence.json").write_text("{}")
    assert unreadable in refusal("skills", "verify", skill)
    (skill / "evidence.json").unlink()
    for folder in (skill, skill.parent):
        assert unreadable in refusal("skills", "verify", folder)


def test_a_skill_can_be_moved_together_with_the_files_of_its_environment(tmp_path: Path) -> None:
    home = tmp_path / "my files"
    home.mkdir()
    notes = (ROOT / "examples" / "tools" / "notes.py").read_text()
    (home / "notes.py").write_text(f"{notes}\nimport parts_of_notes\n")
    (home / "parts_of_notes.py").write_text("")
    (home / "judge_of_notes.py").write_text(
        "import left\n\ndef judge(state):\n    return left.ONE == len(state.numbers())\n"
    )
    (home / "left.py").write_text("ONE = 1\n")
    (home / "model.py").write_text((ROOT / "tests" / "tools_script.py").read_text())
    task = {"type": "tidy", "goal": "Remove the old notes.", "params": {"notes": ["old", "new"], "word": "old"}}
    tasks = [{**task, "id": id, "judge": {"python": "judge_of_notes.py:judge"}} for id in ("tidy/1", "tidy/2")]
    (home / "tasks.json").write_text(json.dumps({"tasks": tasks}))
    env = ("--env", f"module:{home}/notes.py:Notes", "-o", f"tasks={home}/tasks.json")
    model = f"scripted:{home}/model.py:answer"
    succeed("build", *env, "--model", model, "--out", tmp_path / "run")
    succeed("skills", "export", tmp_path / "run")
    (skill,) = (tmp_path / "run" / "skills").iterdir()
    assert not [text for text in files(skill).values() if re.search(rf"{tmp_path}|{ROOT}|my files|[^/]files/", text)]
    lines = (skill / "SKILL.md").read_text().splitlines()
    assert lines[-1].endswith("Copy these files into this folder, or write their paths.")
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("    planbook ")]
    for name in ("notes.py", "tasks.json", "parts_of_notes.py", "judge_of_notes.py", "left.py"):
        (skill / name).write_text((home / name).read_text())
    assert "module:notes.py:Notes, whose code would run on this machine; name it" in refusal("skills", "verify", skill)
    assert [planbook(*each, cwd=skill).returncode for each in commands] == [0, 0]
    elsewhere = invoke("skills", "verify", skill, *env, "--out", tmp_path / "again")
    assert "2 of 2 tasks solved; changed verdicts: none; changed files: none" in elsewhere.printed


def test_the_command_that_verifies_a_skill_names_the_options_of_its_environment(tmp_path: Path) -> None:
    options = "--env alfworld -o paper_docs=true --split generated --seeds 0 --types pick_and_place".split()
    model = f"scripted:{ROOT}/tests/household_script.py:answer"
    succeed("build", *options, "--model", model, "--out", tmp_path / "run")
    succeed("skills", "export", tmp_path / "run", "--out", tmp_path)
    found = evidence(tmp_path / "alfworld-pick-and-place")
    assert found["verify"] == "planbook skills verify . --env alfworld -o paper_docs=true"
    assert "files that are not part" not in (tmp_path / "alfworld-pick-and-place" / "SKILL.md").read_text()


def test_options_and_evidence_that_do_not_fit_are_refused(skill: Path) -> None:
    assert "--option: nosuch: there is no such option" in refusal("skills", "verify", skill, "-o", "nosuch=1")
    change(skill, actions=-1)
    refused = refusal("skills", "verify", skill)
    assert "evidence of a skill: actions: Input should be greater than or equal to 0" in refused
    assert "pydantic" not in refused


def test_a_task_that_was_not_played_has_no_verdict(skill: Path, tmp_path: Path) -> None:
    tasks = [task | {"outcome": "failure"} for task in evidence(skill)["tasks"]]
    change(skill, tasks=tasks)
    ids = [each["task"]["id"] for each in tasks]
    chosen = [word for id in ids for word in ("--task", id)]
    asking = ("--planner", "automanual", "--model", scripted(), "--budget", "calls=1")
    played = invoke("run", "--env", "toy", *chosen, *asking, "--out", tmp_path / "run")
    assert played.returncode == 4, played.printed
    found = verified_skill(skill, read_evidence(skill), tmp_path / "run")
    assert set(found.changed) >= set(ids[1:])


def test_code_that_only_a_skill_names_is_not_executed(skill: Path, tmp_path: Path) -> None:
    (skill / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n")
    for env in ("evil.py", f"{skill}/evil.py:Evil", f"module:{skill}/evil.py", f"mcp:touch {tmp_path}/executed"):
        change(skill, env=env)
        assert f"the environment {env}, whose code would run on this machine" in refusal("skills", "verify", skill)
    assert not (tmp_path / "executed").exists()


def test_forged_evidence_is_refused(skill: Path) -> None:
    known = evidence(skill)["tasks"][0]
    differs = f"tasks differ from the environment's ({known['task']['id']})"
    change(skill, tasks=[])
    assert "at least 1 item" in refusal("skills", "verify", skill)
    for forged, message in (
        ({"goal": "Do nothing."}, differs),
        ({"seed": 7}, differs),
        ({"id": "fetch/easy"}, "has no task 'fetch/easy'"),
    ):
        change(skill, tasks=[{**known, "task": {**known["task"], **forged}}])
        assert message in refusal("skills", "verify", skill, "--out", skill.parent / next(iter(forged)))


def test_a_skill_is_played_inside_the_chosen_folder(skill: Path, tmp_path: Path) -> None:
    change(skill, skill=str(tmp_path / "escaped"))
    assert verify(skill).result["skills"][0]["run"] == str(tmp_path / "again" / "toy-fetch")
    assert not (tmp_path / "escaped").exists()


def test_another_score_and_a_missing_file_of_the_evidence_are_reported(skill: Path) -> None:
    recorded = evidence(skill)
    first = recorded["tasks"][0]
    change(skill, tasks=[{**first, "score": 0.5}], sha256={**recorded["sha256"], "assets/x.bin": "0" * 64})
    finished = verify(skill)
    assert finished.returncode == 1
    (found,) = finished.result["skills"]
    assert found["changed"] == [first["task"]["id"]]
    assert found["changed_files"] == ["assets/x.bin"]


def test_evidence_cannot_raise_the_limits(skill: Path) -> None:
    script = skill / "scripts" / "solve.py"
    script.write_text(script.read_text().replace("agent.put(thing)", "[0] * 10**8"))
    recorded = evidence(skill)
    change(skill, tasks=recorded["tasks"][:1], limits={**recorded["limits"], "memory_mb": 100_000, "wall_seconds": 1e6})
    finished = verify(skill)
    assert finished.returncode == 1
    assert finished.result["skills"][0]["reduced_limits"] == ["wall_seconds", "memory_mb"]
    assert "limits reduced to planbook's own: wall_seconds, memory_mb" in finished.printed
    with closing(Run.open(skill.parent / "again" / "toy-fetch")) as run:
        assert (run.config.limits.memory_mb, run.config.limits.wall_seconds) == (256, 10)


def test_a_link_out_of_the_folder_is_not_followed(skill: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a secret line")
    for name in ("scripts/solve.py", "evidence.json"):
        shutil.copy(skill / name, tmp_path / "copy")
        (skill / name).unlink()
        (skill / name).symlink_to(tmp_path / "secret.txt")
        refused = refusal("skills", "verify", skill)
        assert "it is not a file in the skill's folder" in refused
        assert "secret line" not in refused
        (skill / name).unlink()
        shutil.copy(tmp_path / "copy", skill / name)
