"""``python -m tests.sandbox.fuzz TARGET SECONDS [FOLDER]``: coverage-guided fuzzing with atheris.

The target ``size`` takes random inputs instead, because instrumented code is slower.

The inputs are kept in the folder, and a later run continues with them. An input that makes the target fail is written
there as ``crash-...``; ``python -m tests.sandbox.fuzz TARGET FILE`` runs it alone, without atheris.
"""

import importlib
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

TARGETS = ("policy", "arguments", "wire")
SIZE = "size"
INSTRUMENTED = ["planbook.sandbox", "RestrictedPython"]
SEEDS = 10
"""Number of inputs of each kind for each second. They run before the fuzzer looks at the clock."""
MAX_BYTES = 400


def main(name: str, what: str, folder: str | None = None) -> None:
    """Run one target for some seconds or on one file."""
    if name not in (*TARGETS, SIZE):
        sys.exit(f"there is no target {name!r}; there are: {', '.join((*TARGETS, SIZE))}")
    if Path(what).is_file():
        importlib.import_module(f"tests.sandbox.fuzz.{name}").test_one(Path(what).read_bytes())
    elif name == SIZE:
        _look_for_large(float(what), Path(folder or tempfile.mkdtemp()))
    else:
        _fuzz(name, float(what), Path(folder or tempfile.mkdtemp()))


def _look_for_large(seconds: float, folder: Path) -> None:
    """Raise AssertionError for the first text that takes too much time or memory."""
    size, random, ends = importlib.import_module("tests.sandbox.fuzz.size"), Random(), time.monotonic() + seconds
    folder.mkdir(parents=True, exist_ok=True)
    while time.monotonic() < ends:
        data = random.randbytes(MAX_BYTES)
        (folder / "last").write_bytes(data)
        try:
            size.test_one(data)
        except BaseException:
            (folder / "last").rename(folder / "crash-size")
            raise


def _fuzz(name: str, seconds: float, folder: Path) -> None:
    """Run atheris, which ends the process, with exit code 0 if it found nothing."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=INSTRUMENTED, enable_loader_override=False):
        target = importlib.import_module(f"tests.sandbox.fuzz.{name}")
    folder.mkdir(parents=True, exist_ok=True)
    _seed(folder, int(seconds * SEEDS))
    options = f"-max_total_time={int(seconds)} -max_len={MAX_BYTES} -timeout=60 -rss_limit_mb=4096 -seed=1".split()
    atheris.Setup([name, *options, f"-artifact_prefix={folder}/", str(folder)], target.test_one)
    atheris.Fuzz()


def _seed(folder: Path, most: int) -> None:
    """Write the first inputs: random ones, and the attacks and programs of the tables by number and as text."""
    from tests.sandbox.fuzz.programs import MAKERS, corpus, mutated, spelt  # instrumented by now

    random = Random(1)
    for number in range(most):
        (folder / f"random-{number}").write_bytes(random.randbytes(random.choice((8, 30, 100, MAX_BYTES))))
    for number, text in random.sample(list(enumerate(corpus())), min(most, len(corpus()))):
        (folder / f"number-{number}").write_bytes(bytes([MAKERS.index(mutated), *number.to_bytes(2, "little"), 0]))
        (folder / f"text-{number}").write_bytes(bytes([MAKERS.index(spelt)]) + text.encode()[: MAX_BYTES - 1])


if __name__ == "__main__":
    main(*sys.argv[1:])
