"""Digests of the files that the tasks of an environment are made from."""

import json
import os
from pathlib import Path

import pytest

from planbook.envs import MissingRequirement, Selection, load_environment
from planbook.envs.requirements import file_digest, folder_digest, texts_digest

DIGESTS = {
    "alfworld": {"what games are generated from"},
    "crafter": {"crafter's tables and code"},
    "minecraft": {"recipes", "recorded goals"},
    "miniwob": {"pages"},
    "shopping": {"products"},
    "tabletop": set(),
    "textcraft": {"recipes", "list of tasks"},
    "toy": set(),
    "web": {"list of tasks", "the site trac"},
}


@pytest.mark.parametrize("name", DIGESTS)
def test_an_environment_has_digests_of_its_data(name: str) -> None:
    environment = load_environment(name)
    split = "generated" if name == "alfworld" else None
    digests = environment.checksums(environment.select(Selection(split=split)))
    assert digests.keys() == DIGESTS[name]
    assert all(len(digest) == 64 for digest in digests.values())


def test_the_digest_of_a_task_file_replaces_that_of_the_shipped_one(tmp_path: Path) -> None:
    environment, file = load_environment("web"), tmp_path / "tasks.json"
    task = {"id": "a", "type": "t", "kind": "look_up", "goal": "Look.", "start": "http://127.0.0.1:1/"}
    file.write_text(json.dumps([task]))
    options = environment.Options.model_validate({"tasks": file})
    before = environment.checksums(environment.select(Selection(), options), options)
    file.write_text(json.dumps([{**task, "goal": "Look again."}]))
    after = environment.checksums(environment.select(Selection(), options), options)
    assert before.keys() == after.keys() == {"list of tasks"}
    assert before != after


def test_a_changed_file_has_a_new_digest(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("one")
    before = file_digest(file)
    file.write_text("two")
    os.utime(file, ns=(1, 1))
    assert file_digest(file) != before
    assert file_digest(file) == "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"


def test_the_digest_of_a_folder_depends_on_names_and_contents_only(tmp_path: Path) -> None:
    for folder, name, text in (("a", "x", "1"), ("b", "x", "1"), ("c", "y", "1"), ("d", "x", "2")):
        (tmp_path / folder / "inner").mkdir(parents=True)
        (tmp_path / folder / "inner" / name).write_text(text)
    (tmp_path / "b" / "__pycache__").mkdir()
    (tmp_path / "b" / "__pycache__" / "x.pyc").write_text("made by the interpreter")
    one, same, renamed, changed = (folder_digest(tmp_path / name) for name in "abcd")
    assert one == same
    assert len({one, renamed, changed}) == 3


def test_the_digest_of_texts_depends_on_where_each_text_ends() -> None:
    lists: tuple[list[str], ...] = (["ab", "c"], ["a", "bc"], ["c", "ab"], ["abc"], ["abc", ""], [])
    assert len({texts_digest(texts) for texts in lists}) == 6


def test_a_missing_file_is_reported_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(MissingRequirement, match=r"nothing cannot be read: No such file.*restore it"):
        file_digest(tmp_path / "nothing")
