"""Every command line of `cases/*.toml` has the expected exit code, words, and `--json` object."""

from pathlib import Path

import pytest

from tests.blackbox.conftest import RunShelf
from tests.blackbox.harness import Case, cases, listed_shape, shape, value_at


def _parameters() -> list[object]:
    marks = {"deep": pytest.mark.deep, "browser": pytest.mark.browser}
    return [
        pytest.param(
            case,
            id=case.name,
            marks=[marks[mark] for mark in marks if mark == case.needs or (case.deep and mark == "deep")],
        )
        for case in cases()
    ]


@pytest.mark.parametrize("case", _parameters())
@pytest.mark.usefixtures("requirements")
def test_a_command_line_has_the_expected_results(case: Case, shelf: RunShelf, tmp_path: Path) -> None:
    finished = shelf.play(case, tmp_path)
    assert finished.code == case.code, finished.printed
    out, err = " ".join(finished.out.split()), " ".join(finished.err.split())
    assert [word for word in case.out if word not in out] == [], out
    assert [word for word in case.err if word not in err] == [], err
    if "--json" in case.line.split():
        found = finished.result
        assert {path: value_at(found, path) for path in case.result} == case.result
    if case.keys:
        assert _differences(listed_shape(case.keys), shape(finished.result)) == {}


def _differences(listed: dict[str, set[str]], found: dict[str, set[str]]) -> dict[str, str]:
    """Return the listed paths that are missing or have other types. Additional paths are allowed."""
    return {
        path: f"{found.get(path, 'nothing')}, not {types}"
        for path, types in listed.items()
        if not found.get(path, {"nothing"}) <= types
    }


def test_case_names_are_unique() -> None:
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names)
