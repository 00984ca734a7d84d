"""The processes of this machine, as told in /proc: which started which, and the memory that each has to itself."""

from pathlib import Path


def parents() -> dict[int, int]:
    """The parent of each process."""
    return dict(filter(None, map(_parent, Path("/proc").glob("[0-9]*"))))


def _parent(process: Path) -> tuple[int, int] | None:
    """A process and its parent, or None where it has ended meanwhile."""
    try:
        after_name = (process / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(process.name), int(after_name[1])


def private_megabytes(process: int) -> float:
    """Memory that a process shares with no other. Raises OSError of one that has ended, or that only root may read."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024
