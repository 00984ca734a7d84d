"""Knowledge is written to a folder of files and read back."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given

from planbook.envs import Selection, Task, load_environment
from planbook.manuals import SHIPPED
from planbook.manuals.errors import BadKnowledge
from planbook.manuals.library import read_knowledge, standalone_code, write_knowledge
from planbook.manuals.markdown import Manual, Section, render
from planbook.planner import Procedure, parse_procedure
from planbook.rules import Knowledge, Reflection, Rule, RuleType, Skill
from tests.manuals.hostile import manuals, texts

TOY = load_environment("toy")
TASK = TOY.select(Selection())[0]
SOLVE = '''"""Put a thing on the table.

world: toy
type: fetch
source: a model
"""


def solve(agent, task):
    agent.put("key")
'''
RULES = (
    Rule(id="rule_0", type=RuleType.SPECIAL_MECHANISM, content="Open a box first.", log=("from a success",)),
    Rule(id="rule_3", type=None, content="For fetch: find é.", example="x = r'\\d'", builds_on=("rule_0",)),
)
MANUAL = render(Manual(title="Toy", sections=(Section(title="All", rule_ids=("rule_3", "rule_0")),)), RULES)
FULL = Knowledge(
    environment="toy",
    rules=RULES,
    manual=MANUAL,
    skills={"fetch": Skill(task=TASK, scene="boxes", code="agent.open('box_1')\n")},
    reflections={"fetch_two": Reflection(task=TASK, scene="boxes", text="forgot one\r\n")},
    procedures={"fetch": parse_procedure(SOLVE, "fetch.py")},
    example="# An example\n\n  done ",
)


def is_encodable(text: str) -> bool:
    """Return whether a text has no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8") == text


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changed(name: str, text: str | bytes, folder: Path) -> Path:
    """Write the complete knowledge for the toy, and replace one file. Return the folder."""
    write_knowledge(folder, FULL)
    (folder / "toy" / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_written_knowledge_is_read_back(tmp_path: Path) -> None:
    write_knowledge(tmp_path, FULL)
    written = files(tmp_path)
    assert read_knowledge(tmp_path, TOY) == FULL
    write_knowledge(tmp_path, read_knowledge(tmp_path, TOY))
    assert files(tmp_path) == written
    assert sorted(files(tmp_path)) == [
        "toy/example.md",
        "toy/manual.md",
        "toy/procedures/fetch.py",
        "toy/reflections.json",
        "toy/rules.json",
        "toy/skills.json",
    ]
    assert (tmp_path / "toy" / "manual.md").read_text() == MANUAL
    assert '\n  {\n    "id": "rule_0",' in (tmp_path / "toy" / "rules.json").read_text()


@given(manuals(), texts, texts)
def test_hostile_texts_are_read_back(written: tuple[Manual, list[Rule]], text: str, example: str) -> None:
    manual, rules = written
    whole = Knowledge(
        environment="toy",
        rules=tuple(rules),
        manual=render(manual, rules),
        skills={"fetch": Skill(task=TASK, scene=text, code=text)},
        reflections={text: Reflection(task=TASK, scene=text, text=text)},
        example=example,
    )
    assume(is_encodable(whole.manual + text + example))
    with TemporaryDirectory() as folder:
        write_knowledge(Path(folder), whole)
        assert read_knowledge(Path(folder), TOY) == whole


def test_empty_parts_are_deleted_and_other_files_stay(tmp_path: Path) -> None:
    write_knowledge(tmp_path, FULL)
    (tmp_path / "toy" / "notes.txt").write_text("mine")
    (tmp_path / "alfworld").mkdir()
    write_knowledge(tmp_path, Knowledge(environment="toy"))
    assert read_knowledge(tmp_path, TOY) == Knowledge(environment="toy")
    assert list(files(tmp_path)) == ["toy/notes.txt"]
    assert read_knowledge(tmp_path, load_environment("alfworld")) == Knowledge(environment="alfworld")


@pytest.mark.parametrize("name", ["toy", "alfworld"])
def test_shipped_procedures_are_written_with_their_helpers(name: str, tmp_path: Path) -> None:
    environment = load_environment(name)
    shipped = read_knowledge(SHIPPED, environment).procedures
    assert set(shipped) == set(environment.types)
    write_knowledge(tmp_path, Knowledge(environment=name, procedures=shipped))
    read_back = read_knowledge(tmp_path, environment).procedures
    assert {kind: (each.summary, each.source, each.helpers) for kind, each in read_back.items()} == {
        kind: (each.summary, each.source, "") for kind, each in shipped.items()
    }
    assert all(each.helpers.strip() in read_back[kind].code for kind, each in shipped.items())


def test_without_rules_json_the_rules_are_read_from_the_manual(tmp_path: Path) -> None:
    write_knowledge(tmp_path, FULL)
    (tmp_path / "toy" / "rules.json").unlink()
    read = read_knowledge(tmp_path, TOY)
    assert read.rules == tuple(rule.model_copy(update={"log": ()}) for rule in RULES)
    assert read.manual == MANUAL


def test_a_rule_edited_in_the_manual_replaces_that_of_rules_json(tmp_path: Path) -> None:
    edited = MANUAL.replace("Open a box first.", "Open a box, then look.")
    read = read_knowledge(changed("manual.md", edited, tmp_path), TOY)
    assert read.rules == (RULES[0].model_copy(update={"content": "Open a box, then look."}), RULES[1])
    assert read.manual == edited
    write_knowledge(tmp_path, read)
    assert read_knowledge(tmp_path, TOY) == read


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rules.json", "{", r"rules\.json: the file: .*JSON.*; correct it, or delete"),
        ("rules.json", '[{"id": "rule_0"}]', r"rules\.json: 0\.type: Field required"),
        ("rules.json", b"\xff", r"rules\.json cannot be read"),
        ("rules.json", json.dumps([RULES[0].model_dump()] * 2), "the same id: rule_0; correct the ids"),
        ("rules.json", json.dumps([RULES[0].model_dump() | {"id": "one"}]), "'one' is not a rule id"),
        (
            "rules.json",
            json.dumps([RULES[0].model_dump()]),
            "only in manual.md: rule_3.*delete manual.md and write it again with planbook formulate",
        ),
        ("manual.md", MANUAL.replace("rule_0", "rule_1"), "only in rules.json: rule_0; only in manual.md: rule_1"),
        ("manual.md", "Toy", r"manual\.md: line 1: "),
        ("skills.json", '{"fetch": 1}', r"skills\.json: fetch: "),
        ("reflections.json", "[]", r"reflections\.json: the file: "),
        ("procedures/fetch.py", "def solve(agent, task): pass", "no header"),
        ("procedures/fetch.py", SOLVE.replace("put", "fly"), "does not pass the check"),
        ("procedures/fetch.py", b"\xff", r"fetch\.py: cannot be read"),
    ],
)
def test_an_invalid_file_is_named(name: str, text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadKnowledge, match=message):
        read_knowledge(changed(name, text, tmp_path), TOY)


def test_a_folder_among_procedures_and_an_unreadable_helper_are_named(tmp_path: Path) -> None:
    write_knowledge(tmp_path, FULL)
    home = tmp_path / "toy"
    (home / "procedures" / "x.py").mkdir()
    with pytest.raises(BadKnowledge, match=r"x\.py: cannot be read"):
        read_knowledge(tmp_path, TOY)
    (home / "procedures" / "x.py").rmdir()
    (home / "helpers").mkdir()
    (home / "helpers" / "boxes.py").write_bytes(b"\xff")
    with pytest.raises(BadKnowledge, match=r"boxes\.py: cannot be read"):
        read_knowledge(changed("procedures/fetch.py", SOLVE.replace("model\n", "model\nuses: boxes\n"), tmp_path), TOY)


def test_a_header_that_ends_with_its_helpers_is_written() -> None:
    using = procedure(SOLVE.replace("model\n", "model\nuses: boxes")).model_copy(update={"helpers": "BOXES = 3\n"})
    assert standalone_code(using) == SOLVE.replace('"""\n\n', '"""\n\nBOXES = 3\n\n\n')


def test_procedures_that_need_missing_actions_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "planbook")
    web = load_environment("web")
    every = read_knowledge(SHIPPED, web).procedures
    offered = read_knowledge(SHIPPED, web, web.Options.model_validate({"paper_actions": True})).procedures
    assert every.keys() - offered.keys() == {"close_ticket", "figure_in_force", "open_report"}
    (message,) = caplog.messages
    assert message.endswith("actions that they need: close_ticket, figure_in_force, open_report")


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadKnowledge, match="is not a folder"):
        read_knowledge(tmp_path / "lost", TOY)
    (tmp_path / "rules.json").write_text("[]")
    with pytest.raises(BadKnowledge, match="move them to the folder"):
        read_knowledge(tmp_path, TOY)
    write_knowledge(tmp_path, FULL)
    assert read_knowledge(tmp_path, TOY) == FULL


def procedure(code: str) -> Procedure:
    return FULL.procedures["fetch"].model_copy(update={"code": code})


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"rules": RULES[:1]}, "differ in rule_3. Write the manual again"),
        ({"rules": (RULES[0].model_copy(update={"content": "Newer."}), RULES[1])}, "differ in rule_0"),
        ({"rules": (RULES[0], *RULES)}, "several rules have the same id: rule_"),
        ({"manual": "no manual"}, r"manual\.md was not written: line 1"),
        ({"environment": "../toy"}, "cannot be the name"),
        ({"example": "\ud800"}, "was not written: .*surrogates"),
        ({"procedures": {"fetch": procedure("x = 1")}}, "fetch cannot be written: .*no header"),
        ({"procedures": {"fetch": procedure("").model_copy(update={"helpers": "x = 1"})}}, "fetch cannot be written: "),
        ({"procedures": {"fetch_two": procedure(SOLVE)}}, "fetch_two has a header for fetch in toy"),
        ({"procedures": {"a-b": procedure(SOLVE.replace("fetch", "a-b")), "a_b": procedure(SOLVE)}}, "two procedures"),
    ],
)
def test_knowledge_that_could_not_be_read_back_is_not_written(
    update: dict[str, object], message: str, tmp_path: Path
) -> None:
    write_knowledge(tmp_path, FULL)
    before = files(tmp_path)
    with pytest.raises(BadKnowledge, match=message):
        write_knowledge(tmp_path, FULL.model_copy(update=update))
    assert files(tmp_path) == before


def test_a_failed_write_leaves_every_file_unchanged(tmp_path: Path) -> None:
    write_knowledge(tmp_path, FULL)
    (tmp_path / "toy" / "skills.json.new").mkdir()
    before = files(tmp_path)
    with pytest.raises(BadKnowledge, match="was not written"):
        write_knowledge(tmp_path, FULL.model_copy(update={"example": "another"}))
    assert files(tmp_path) == before


def test_types_with_any_characters_and_params_of_any_kind_are_read_back(tmp_path: Path) -> None:
    kind = "click tab/2"
    procedure = parse_procedure(SOLVE.replace("fetch", kind), "click_tab_2.py")
    task = Task(id="x/1", env="toy", split="all", type="x", goal="g", params={"a": [1, None, {"b": "ü"}]}, seed=3)
    skills = {"x": Skill(task=task, scene="", code="")}
    knowledge = Knowledge(environment="toy", procedures={kind: procedure}, skills=skills)
    write_knowledge(tmp_path, knowledge)
    assert read_knowledge(tmp_path, TOY) == knowledge
