"""planbook: agents that plan in Python and learn a manual.

This package puts the parts together.

- What is asked: ``cli`` parses the ``options`` (``option_values``, ``option_help``) into ``arguments`` and hands over
  to ``commands``; a ``config`` is all that a run was asked to do.
- What comes of it: a ``run`` in a folder, with its ``store`` of events, its ``spending`` and its ``inputs``;
  ``resuming`` is what comes before it is played on or repeated.
- Who does it: ``workers`` play, with the ``knowledge`` that there is, ``replay`` plays again, ``learning`` learns from
  episodes, ``graphs`` runs prompt graphs alone.
- What it comes to: ``results``; ``compare`` holds runs against each other, and ``papers`` against publications.
- Who sees it: the ``terminal``, the page of ``report``, the browser while it goes on (``watching``), and other programs
  (``export``). ``wording`` is how figures are written, ``outcomes`` how endings are, ``writing`` how files are;
  ``console`` is where commands print.
- ``errors`` are what the command line reports; ``bench`` measures us.

Imports go one way: ``pyproject.toml`` has the order, and a test holds it.

The engine lies in five packages of this one, whose folders stand beside this folder in the repository: ``sandbox``,
``envs``, ``planner``, ``rules`` and ``manuals``.
"""

PACKAGES = ("envs", "manuals", "planner", "rules", "sandbox")
__version__ = "0.2.0"
