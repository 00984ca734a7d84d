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


def test_a_procedure_keeps_its_whole_file_so_that_lines_agree() -> None:
    procedure = parse_procedure(GOOD, "fetch.py")
    assert (procedure.summary, procedure.environment, procedure.type) == ("Put a thing on the table.", "toy", "fetch")
    assert procedure.source == "written by hand"
    assert procedure.code == GOOD


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def solve(agent, task): pass", "no header"),
        (GOOD.replace("type: fetch\n", ""), "lacks type"),
        (GOOD.replace("type: fetch", "type: fetch\nkind: x"), "unknown lines kind"),
        (GOOD.replace("source: written by hand", "source: me\nuses: boxes"), "no helper file"),
        (GOOD.replace("source: written by hand", "source: me\nuses: ../secret"), "no helper file"),
        ("def solve(:", "not Python"),
        ("\x00", "not Python"),
    ],
)
def test_a_bad_file_is_told_what_it_lacks(text: str, message: str) -> None:
    with pytest.raises(BadProcedure, match=message):
        parse_procedure(text, "fetch.py")


def test_helper_files_lie_beside_the_procedures_folder(tmp_path: Path) -> None:
    (tmp_path / "procedures").mkdir()
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "one.py").write_text("ONE = 1\n")
    (tmp_path / "helpers" / "two.py").write_text("TWO = 2\n")
    file = tmp_path / "procedures" / "fetch.py"
    file.write_text(GOOD.replace("source: written by hand", "source: me\nuses: one, two"))
    assert read_procedure(file).helpers == "ONE = 1\n\n\nTWO = 2\n"


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "fetch.py"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadProcedure, match="cannot be read"):
        read_procedure(file)


def test_only_a_file_that_defines_solve_is_a_procedure() -> None:
    assert is_procedure(GOOD)
    assert not is_procedure("agent.put('key')")
    assert not is_procedure("def solve(:")
