"""The language policy: the parts of Python that plan code may use.

- ``rules`` lists refused names and modules, with hints that tell a model what to write instead.
- ``transformer`` applies these tables to a syntax tree.
- ``compiler`` compiles source code that obeys the policy, or returns its problems. It runs nothing.
"""
