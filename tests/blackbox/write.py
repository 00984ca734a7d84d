"""Write the data files of this suite: `python -m tests.blackbox.write [recordings [NAME ...]]`.

A file in `keys` lists what all cases that name it have in common.
"""

import sys
from pathlib import Path
from tempfile import mkdtemp

from tests.blackbox.conftest import Shelf
from tests.blackbox.harness import KEYS, RECORDINGS, Shape, cases, shape, written_shape


def main() -> None:
    """Write `keys`, or `recordings`."""
    if sys.argv[1:2] == ["recordings"]:
        from tests.blackbox.recorded import PLAYED, played

        for name in sys.argv[2:] or PLAYED:
            (RECORDINGS / f"{name}.txt").write_text(played(name, Path(mkdtemp())).text, encoding="utf-8")
        return
    shelf, found = Shelf(Path(mkdtemp())), dict[str, list[Shape]]()
    for case in cases():
        if case.keys:
            found.setdefault(case.keys, []).append(shape(shelf.play(case, Path(mkdtemp())).result))
    for name, shapes in found.items():
        (KEYS / f"{name}.txt").write_text(written_shape(shapes), encoding="utf-8")


if __name__ == "__main__":
    main()
