"""The planner sees its whole reply again; where its plan ended early, a mark says what was not run."""

from pathlib import Path

from planbook.planner.streaming import NOT_RUN
from tests.flows import asks, here

FIRST = """### Plan
1. [Step 1] look  2. [Step 2] fetch
### Code
```python
seen = agent.open("box_1")
assert "zzz" in seen, "Step 1: no zzz in box_1"
# [Step 2] fetch it
agent.take("zzz", "box_1")
agent.put("zzz")
```
"""
SECOND = "### Code\n```python\nprint(agent.holding)\n```\n"
MODEL = f"replies = {[FIRST, SECOND, SECOND, SECOND]!r}\n"


def test_code_that_was_not_run_stays_in_the_conversation_and_is_marked(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    out = tmp_path / "run"
    given = ("--split", "all:1", "--model", f"scripted:{tmp_path}/model.py:replies", "--out", out)
    played = here("run", "--planner", "automanual", "--env", "toy", *given, "--json")
    assert played.returncode == 0, played.printed
    kept = [each["content"] for each in asks(out)[1]["messages"] if each["role"] == "assistant"]
    assert len(kept) == 1
    assert kept[0].replace(f"{NOT_RUN}\n", "") == FIRST
    assert kept[0].index("assert") < kept[0].index(NOT_RUN) < kept[0].index("[Step 2] fetch it")

    exported = here("export", out, "--format", "chat", "--out", tmp_path / "x.chat")
    assert exported.returncode == 0, exported.printed
    assert len((tmp_path / "x.chat").read_text().splitlines()) == 1, "one conversation, written once"
    assert NOT_RUN not in (tmp_path / "x.chat").read_text()
