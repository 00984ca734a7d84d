"""Models are loaded by the names that the command line accepts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planbook.planner import Message, Roles, Sampling, load_model, register_model
from planbook.planner.errors import EpisodeStopped, ModelRefused, UnknownModel
from tests.openai_server import serving

ASK = [Message(role="user", content="Where is the mug?")]
SCRIPT = """
from __future__ import annotations
from dataclasses import dataclass
from planbook.planner import Message, Sampling

replies = ["one", "two"]
number = 7

@dataclass
class Seen:
    text: str

def answer(messages, sampling):
    return f"{messages[-1].content} {sampling.seed}"
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "my script.py"
    path.write_text(SCRIPT)
    (tmp_path / "bad.py").write_text("import nothing_of_that_name\n")
    return path


def test_a_script_is_loaded_from_a_file(script: Path) -> None:
    model = load_model(f"scripted:{script}:answer")
    assert model.complete(ASK, Sampling(seed=4)).text == "Where is the mug? 4"
    assert model.name == f"scripted:{script}:answer"
    assert load_model(f"scripted:{script}:replies").complete(ASK, Sampling()).text == "one"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("scripted:{script.parent}/bad.py:answer", r"bad\.py failed while it was imported: ModuleNotFoundError"),
        ("scripted:{script}:nothing", "defines no nothing; it must be a function"),
        ("scripted:{script}:number", "number in .* is a int"),
        ("scripted:{script}", "write scripted:FILE.py:NAME"),
        ("scripted:gone.py:answer", "no file gone.py"),
        ("recorded:{script}", r"py:1 is not the header of a recording"),
        ("recorded:gone.jsonl", r"no recording gone\.jsonl; .* recorded:gone\.jsonl\+MODEL"),
        ("recorded:gone.jsonl+none", "none is not a model"),
        ("recorded:gone.jsonl+magic:x", "no model is called 'magic:x'"),
        ("exchange:{script}", "needs a folder"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_an_error_with_advice(script: Path, spec: str, message: str) -> None:
    with pytest.raises(UnknownModel, match=message):
        load_model(spec.format(script=script))


@pytest.mark.parametrize("spec", ["", "gpt-4o", "openai:", "OPENAI:x", "none", "recorded:"])
def test_an_unknown_name_lists_the_forms(spec: str) -> None:
    with pytest.raises(UnknownModel) as error:
        load_model(spec)
    for form in ("openai:NAME", "recorded:FILE", "recorded:FILE+MODEL", "exchange:DIR", "scripted:FILE.py:NAME"):
        assert form in str(error.value)


def test_a_recording_is_made_and_replayed_by_name(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.parent)
    made = load_model("recorded:a+b.jsonl+scripted:my script.py:answer").complete(ASK, Sampling())
    repeated = load_model("recorded:a+b.jsonl").complete(ASK, Sampling())
    assert (made.text, made.replayed, repeated.text, repeated.replayed) == (
        repeated.text,
        False,
        "Where is the mug? 0",
        True,
    )


def test_a_recorded_exchange_is_replayed(tmp_path: Path) -> None:
    folder, file = tmp_path / "asked", tmp_path / "a.jsonl"
    with pytest.raises(EpisodeStopped):
        load_model(f"recorded:{file}+exchange:{folder}", stopped=lambda: True).complete(ASK, Sampling())
    (prompt,) = folder.glob("*.prompt.md")
    prompt.with_name(prompt.name.replace("prompt", "answer")).write_text("on shelf 2")
    assert load_model(f"recorded:{file}+exchange:{folder}").complete(ASK, Sampling()).text == "on shelf 2"
    assert load_model(f"recorded:{file}").complete(ASK, Sampling()).text == "on shelf 2"


def test_a_recorded_server_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.jsonl"
    with serving(lambda messages: "served") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        first = load_model(f"recorded:{file}+openai:vendor/some:model").complete(ASK, Sampling())
        assert server.requests[0]["model"] == "vendor/some:model"
    repeated = load_model(f"recorded:{file}").complete(ASK, Sampling())
    assert repeated == first.model_copy(update={"replayed": True, "seconds": 0.0})


class OwnModel:
    """A user's own model. The function that is passed to it becomes its method ``complete``."""

    name = "mine"

    def __init__(self, complete: Callable[..., Any]) -> None:
        self.complete = complete


@pytest.mark.parametrize(
    "complete",
    [
        lambda messages, sampling: "yes",
        lambda messages, sampling, on_text: "yes",
        lambda messages, *, sampling, on_text=None: "yes",
        "yes",
    ],
)
def test_a_users_own_model_with_other_parameters_is_refused(complete: Any) -> None:
    with pytest.raises(UnknownModel, match=r"model mine cannot be asked: .*\(self, messages, sampling, on_text=None\)"):
        register_model(OwnModel(complete))


def test_a_users_own_model_must_return_a_reply() -> None:
    model = OwnModel(lambda messages, sampling, on_text=None: "yes")
    assert register_model(model) == "object:mine"
    with pytest.raises(ModelRefused, match=r"of the model mine returned a str; it must return a Reply"):
        Roles(lambda role: model, {}).complete("planner", ASK)
