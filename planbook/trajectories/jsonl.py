"""Episodes as JSON Lines: one line an episode."""

import json
import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from planbook.planner import Trajectory
from planbook.planner.trajectory import SCHEMA
from planbook.trajectories.faults import faults_of

LONGEST = 64 * 1024 * 1024
"""Bytes of a line. An episode of 50 actions takes some 100,000, prompts included."""

WORDS, GREAT = (b"NaN", b"Infinity"), re.compile(rb"[eE](?<=\d[eE])\+?\d{3}")
"""What a number may be behind that is not finite: most lines hold none of it, and are not looked through again.

The pattern begins with the rarest of its characters: so the search for it passes over a line at once.
"""


class BadEpisode(ValueError):
    """What is written is no episode in the schema. ``faults`` has every one that was found, in words."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def line_of(trajectory: Trajectory) -> str:
    """The one line; the same episode always gives the same."""
    told = written(trajectory.model_dump(mode="json"))
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def written(value: Any) -> Any:
    """The value as every reader of JSON takes it: half a surrogate pair is no text, and NaN no number."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, dict):
        return {written(key): written(item) for key, item in value.items()}
    if isinstance(value, list):
        return [written(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def parsed(text: str | bytes) -> Trajectory:
    """The episode of a line. Raises BadEpisode."""
    try:
        trajectory = Trajectory.model_validate_json(text, strict=True)
        if "schema_version" not in trajectory.model_fields_set:
            raise BadEpisode([_schema_fault(text)])
    except ValidationError as error:
        raise BadEpisode(_told(error, text)) from error
    if _may_be_endless(text if isinstance(text, bytes) else text.encode()):
        _check_numbers(trajectory)
    if faults := list(faults_of(trajectory)):
        raise BadEpisode(faults)
    return trajectory


def _may_be_endless(line: bytes) -> bool:
    return any(word in line for word in WORDS) or GREAT.search(line) is not None


def _check_numbers(trajectory: Trajectory) -> None:
    try:
        json.dumps(trajectory.model_dump(mode="json"), allow_nan=False)
    except ValueError as error:
        raise BadEpisode(["a number is NaN or infinite, which is none of JSON's"]) from error


def read_lines(path: Path) -> Iterator[tuple[str, Trajectory | BadEpisode]]:
    """Every episode of a file with the place where it stands, or what is wrong there. Raises OSError."""
    with path.open("rb") as file:
        for number, line in enumerate(_lines_of(file), 1):
            if line.strip():
                yield f"line {number}", _or_fault(line)


def _lines_of(file: BinaryIO) -> Iterator[bytes]:
    """One line after the other; the rest of one that is too long is passed over, never held."""
    while line := file.readline(LONGEST + 1):
        whole = line
        while len(line) > LONGEST and not line.endswith(b"\n"):
            line = file.readline(LONGEST + 1)
        yield whole


def _or_fault(line: bytes) -> Trajectory | BadEpisode:
    if len(line) > LONGEST:
        return BadEpisode([f"longer than {LONGEST:,} bytes, which no episode is"])
    try:
        return parsed(line.strip())
    except BadEpisode as bad:
        return bad


def _told(error: ValidationError, text: str | bytes) -> list[str]:
    """Each fault with the field that has it; what stands there is left out, it may be anything."""
    errors = error.errors(include_url=False, include_input=False)
    if errors[0]["type"] != "json_invalid" and _schema_of(text) != SCHEMA:
        return [_schema_fault(text)]
    return [_fault(each) for each in errors]


def _fault(error: ErrorDetails) -> str:
    where, message = ".".join(map(str, error["loc"])), error["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def _schema_fault(text: str | bytes) -> str:
    found = _schema_of(text)
    if isinstance(found, str) and found.startswith(SCHEMA.partition("/")[0]):
        return f"schema: {json.dumps(found)[:60]} is read by another version of planbook; this one reads {SCHEMA}"
    return f"schema: this is no episode as `planbook export` writes it; `schema` has to be {SCHEMA}"


def _schema_of(text: str | bytes) -> Any:
    found = json.loads(text)
    return found.get("schema") if isinstance(found, dict) else None
