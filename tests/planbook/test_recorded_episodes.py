"""Recorded episodes of every method have the prompts, actions and endings of their golden files.

`tests/blackbox` plays the recordings that need a browser.
"""

from pathlib import Path

import pytest

from planbook.planner import METHODS
from tests.flows import command_of, invoke
from tests.golden import golden, golden_text, play
from tests.planbook.recorded_episodes import EPISODES

DEEP = {
    "adapt-textcraft-stepwise",
    "chain-of-thought-graph-crafter",
    "deps-minecraft-chances",
    "devils-advocate-minecraft-chances",
    "paper-dep-minecraft",
    "paper-deps-minecraft",
    "paper-react-textcraft",
    "paper-zero-shot-replan-minecraft",
}
"""Recordings of long episodes. Other recordings cover their methods, too."""
NAMES = [pytest.param(name, marks=[pytest.mark.deep] * (name in DEEP)) for name in EPISODES]


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_equals_its_golden_file(name: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = play(name, out)
    assert (result["solved"], result["tasks"], result["model_calls"]) == EPISODES[name]
    assert result["replayed_calls"] == result["model_calls"]
    assert golden(out) == golden_text(name)
    replayed = invoke("replay", out, "--json")
    assert replayed.returncode == 0, replayed.printed
    assert replayed.result["by_sameness"]["same"] == result["tasks"], replayed.result


def test_every_method_with_a_model_is_recorded() -> None:
    recorded = {words[words.index("--planner") + 1] for words in map(command_of, EPISODES)}
    assert recorded | {"automanual"} == {name for name, method in METHODS.items() if method.roles}
