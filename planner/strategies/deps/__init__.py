"""DEPS: describe, explain, plan and select; and its baselines, which run a list of goals or a program.

``replanning`` holds DEPS, its baselines and their ``METHODS``. ``goals`` reads a plan, with ``text_matching`` for lines
that are not exact; ``selectors`` choose the next goal, by its predicted horizon if wanted. ``pursuit`` reaches goals,
by one action or by a controller.
"""
