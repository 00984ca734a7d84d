"""Write the data files of this suite: `python -m tests.blackbox.write [recordings [NAME ...]]`.

A file in `keys` lists the keys that the objects of all its cases have in common.
"""

import sys
from pathlib import Path
from tempfile import mkdtemp

from tests.blackbox.conftest import RunShelf
from tests.blackbox.harness import KEYS, RECORDINGS, Shape, cases, shape, written_shape


def main() -> None:
    """Write `keys`, or `recordings`."""
    if sys.argv[1:2] == ["recordings"]:
        from tests.blackbox.recorded import PLAYED, play_recording

        for name in sys.argv[2:] or PLAYED:
            (RECORDINGS / f"{name}.txt").write_text(play_recording(name, Path(mkdtemp())).text, encoding="utf-8")
        return
    shelf, found = RunShelf(Path(mkdtemp())), dict[str, list[Shape]]()
    for case in cases():
        if case.keys:
            found.setdefault(case.keys, []).append(shape(shelf.play(case, Path(mkdtemp())).result))
    for name, shapes in found.items():
        (KEYS / f"{name}.txt").write_text(written_shape(shapes), encoding="utf-8")


if __name__ == "__main__":
    main()
