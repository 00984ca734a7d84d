"""The language policy: which parts of Python plan code may use.

- ``rules`` has the tables of what is refused, and of hints for alternatives.
- ``transformer`` applies these tables to a syntax tree.
- ``compiler`` compiles source under the policy, or returns its problems. It runs nothing.
"""
