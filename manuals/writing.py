"""Files that are replaced whole or not at all."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from planbook.manuals.errors import BadKnowledge

BESIDE = ".new"
"""Suffix of a file's name while it is being written."""


def replace_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write these texts to files of a folder; an empty text removes its file.

    All files are written under temporary names first and then renamed one after the other. A write error changes
    nothing, and a killed process leaves each file either old or new. Raises BadKnowledge.
    """
    written: list[Path] = []
    try:
        for name, data in {name: text.encode("utf-8") for name, text in files.items() if text}.items():
            beside = (folder / name).with_name(Path(name).name + BESIDE)
            beside.parent.mkdir(parents=True, exist_ok=True)
            written.append(beside)
            beside.write_bytes(data)
        for beside in written:
            beside.replace(beside.with_name(beside.name.removesuffix(BESIDE)))
        for name in (name for name, text in files.items() if not text):
            (folder / name).unlink(missing_ok=True)
    except (OSError, UnicodeEncodeError) as error:
        for beside in written:
            with suppress(OSError):
                beside.unlink()
        raise BadKnowledge(f"{folder} was not written: {error}") from error
