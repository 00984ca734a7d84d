"""What runs say of themselves: claims in environments of one's own, and tasks that were skipped."""

from pathlib import Path

from planbook.watching.following import Following
from tests.command import ROOT
from tests.flows import BUILD, here

QUIZ = ROOT / "tests" / "own_environments" / "quiz.py"


def test_wrong_answers_in_an_environment_of_ones_own_are_false_claims(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("agent.answer(2)\n")
    run = tmp_path / "run"
    played = here("exec", tmp_path / "two.py", "--env", QUIZ, "--out", run, "--json")
    assert played.returncode == 0, played.printed
    claims = played.result["claims"]
    assert (claims["claimed_and_solved"], claims["claimed_and_not"]) == (1, 2)
    printed = here("exec", tmp_path / "two.py", "--env", QUIZ, "--out", tmp_path / "again")
    assert "False claims: sum/2 (claimed solved), sum/3 (claimed solved)" in printed.printed
    assert here("report", run, "--out", tmp_path / "report.html").returncode == 0
    assert "Nothing was claimed of any whole task" not in (tmp_path / "report.html").read_text()


def test_building_tasks_that_were_left_out_are_skipped_and_counted_nowhere(tmp_path: Path) -> None:
    run = tmp_path / "run"
    built = here(*BUILD, "--types", "fetch", "--tasks-per-type", "4", "--solved-after", "1", "--out", run, "--json")
    assert built.returncode == 0, built.printed
    assert built.result["left_out"] > 0
    assert here("report", run, "--out", tmp_path / "report.html").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert page.count(">skipped</span>") == built.result["left_out"]
    assert ">begun</span>" not in page
    following = Following(run)
    try:
        following.catch_up()
        assert (following.entries, following.ended, following.under_way()) == (*(built.result["tasks"],) * 2, [])
    finally:
        following.close()
