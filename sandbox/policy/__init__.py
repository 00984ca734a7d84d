"""The language policy: which parts of Python plan code may use.

- ``rules`` lists what is refused, with hints that tell a model what to write instead.
- ``transformer`` applies these tables to a syntax tree.
- ``compiler`` compiles source code that obeys the policy, or returns the problems that it finds. It runs nothing.
"""
