"""The processes of this machine, from /proc: their parents and their private memory."""

from pathlib import Path


def parents() -> dict[int, int]:
    """Return a dict that maps the id of each process to the id of its parent."""
    return dict(filter(None, map(_parent, Path("/proc").glob("[0-9]*"))))


def _parent(process: Path) -> tuple[int, int] | None:
    """Return the ids of a process and its parent, or None if the process has ended."""
    try:
        after_name = (process / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(process.name), int(after_name[1])


def private_megabytes(process: int) -> float:
    """Return the private memory of a process in megabytes.

    Raises OSError if the process has ended, or if only root may read the figure.
    """
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024
