"""Reading procedure files."""

from pathlib import Path

import pytest

from planbook.planner import BadProcedure, is_procedure, parse_procedure, read_procedure

GOOD = '''"""Put a thing on the table.

world: toy
type: fetch
source: written by hand
"""


def solve(agent, task):
    agent.put("key")
'''


def test_a_procedure_keeps_its_whole_file() -> None:
    procedure = parse_procedure(GOOD, "fetch.py")
    assert (procedure.summary, procedure.environment, procedure.type) == ("Put a thing on the table.", "toy", "fetch")
    assert procedure.source == "written by hand"
    assert procedure.code == GOOD


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def solve(agent, task): pass", "no header"),
        ('"""\n    \n"""\ndef solve(agent, task): pass', "no header"),
        (GOOD.replace("type: fetch\n", ""), "lacks type"),
        (GOOD.replace("type: fetch", "type: fetch\nkind: x"), "unknown lines kind"),
        (GOOD.replace("source: written by hand", "source: me\nuses: ../secret"), "no helper file"),
        ("def solve(:", "not Python"),
    ],
)
def test_a_bad_header_is_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(BadProcedure, match=message):
        parse_procedure(text, "fetch.py")


def test_helper_files_are_in_a_folder_beside_that_of_the_procedure(tmp_path: Path) -> None:
    (tmp_path / "procedures").mkdir()
    (tmp_path / "helpers").mkdir()
    for name in ("one", "two"):
        (tmp_path / "helpers" / f"{name}.py").write_text(f"{name.upper()} = 1\n")
    file = tmp_path / "procedures" / "fetch.py"
    file.write_text(GOOD.replace("source: written by hand", "source: me\nuses: one, two"))
    assert read_procedure(file).helpers == "ONE = 1\n\n\nTWO = 1\n"


def test_a_procedure_defines_solve() -> None:
    assert is_procedure(GOOD)
    assert not is_procedure("agent.put('key')")
    assert not is_procedure("def solve(:")
