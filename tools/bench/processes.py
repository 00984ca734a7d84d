"""The processes of this machine, from /proc: their parents and their private memory."""

from pathlib import Path


def parents() -> dict[int, int]:
    """Return the parent of each process, by process id."""
    return dict(filter(None, map(_parent, Path("/proc").glob("[0-9]*"))))


def _parent(process: Path) -> tuple[int, int] | None:
    """Return a process and its parent; None if the process has ended meanwhile."""
    try:
        after_name = (process / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(process.name), int(after_name[1])


def private_megabytes(process: int) -> float:
    """Return the private memory of a process. Raises OSError if it has ended, or if only root may read it."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024
