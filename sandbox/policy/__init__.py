"""What plan code may say. ``compiler`` checks a source, and compiles it, without running anything of it.

``transformer`` walks the tree; ``imports`` judges imports; ``tables``, ``rules`` and ``hints`` name what is refused and
what to write instead, for the worker too.
"""
