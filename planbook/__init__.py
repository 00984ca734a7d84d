"""planbook: agents that plan in Python and learn a manual.

Public and stable are the functions ``run``, ``build`` and ``test``, which do what the commands do, and ``PlayedRun``,
which they return. The engine is in the packages ``sandbox``, ``envs``, ``planner``, ``rules`` and ``manuals``, whose
folders stand beside this one in the repository; each lists its public names in ``__all__``.

This package puts the parts together.

- What is asked: the fields of ``config`` and ``settings`` are the options of the command line (``options``,
  ``option_values``), the keyword arguments of the ``api``, and what a run records. ``cli`` and ``command_line`` parse
  and call ``commands``.
- What comes of it: a folder of ``runs``, with its ``store`` of events, its ``spending`` and its ``inputs``;
  ``resuming`` compares these before it is continued or repeated.
- Who does it: ``workers`` play with the ``knowledge`` that there is, ``replay`` plays again, ``learning`` learns from
  episodes, ``graphs`` runs prompt graphs alone.
- What it comes to: ``results``; ``compare`` compares runs, ``papers`` compares them with publications.
- Who sees it: the ``terminal``, the page of ``report``, the browser during the run (``watching``), and other programs
  (``export``). ``wording`` formats figures and outcomes; ``writing`` writes files, ``console`` prints.
- ``errors`` are what the command line reports. ``surface`` loads a package's modules when a name is first used.

Imports go one way: ``pyproject.toml`` has the order, and a test checks it.
"""

from typing import TYPE_CHECKING

from planbook.surface import lazily

if TYPE_CHECKING:
    from planbook.api import PlayedRun, build, run, test
else:
    __getattr__ = lazily(__name__)

__all__ = ["PlayedRun", "build", "run", "test"]

PACKAGES = ("envs", "manuals", "planner", "rules", "sandbox")
__version__ = "0.2.0"
