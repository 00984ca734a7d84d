"""planbook: agents that plan in Python and learn a manual.

This package puts the parts together.

- What is asked: ``cli`` parses the ``options`` (``option_values``, ``option_help``) into ``arguments`` and hands over
  to ``commands``; a ``config`` is all that a run was asked to do.
- What comes of it: a ``run`` in a folder, with its ``store`` of events, its ``spending`` and its ``provenance``.
- Who does it: ``episodes`` plays, ``learning`` learns from that, ``graphs`` runs prompt graphs alone.
- What it comes to: ``figures``, and ``papers`` holds them against publications.
- Who sees it: the ``terminal``, the page of ``report``, the browser while it goes on (``watching``), and other programs
  (``trajectories``). ``wording`` is how figures are written, ``writing`` how files are.
- ``errors`` are what the command line reports; ``bench`` measures us.

The engine lies in five packages beside this one. Their names are short, so another file may hide one of them: that is
told here, before it shows up as a puzzling error.
"""

from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("envs", "manuals", "planner", "rules", "sandbox")
__version__ = "0.2.0.dev0"


def _check_neighbours() -> None:
    home = Path(__file__).resolve().parent.parent
    for name in PACKAGES:
        spec = find_spec(name)
        found = Path(spec.origin).resolve() if spec and spec.origin else None
        if found is None or found.parent.parent != home:
            raise ImportError(
                f"planbook needs its own package {name!r} from {home / name}, but Python finds {found or 'none'}. "
                "Rename the other one, start from another folder, or install planbook into an environment of its own."
            )


_check_neighbours()
