"""How do episodes leave a run as files that others read, and how do others' come in?

``schema`` says what an episode is written as, with the ``parts`` that do not lie in its rounds; ``faults`` says what
can be wrong with one. ``from_events`` makes one of a run's events, ``to_events`` makes events of it again. ``jsonl``
and ``parquet`` are its two ``files``; ``chat`` tells the conversations alone. ``exporting`` and ``importing`` string
these together; ``origin`` is what the run.json of an imported run says.
"""
