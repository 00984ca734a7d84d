"""How do episodes leave a run as files that others read, and how do others' come in?

``schema`` says what an episode is written as; ``reading`` makes that of a run's events, ``events`` makes events of it
again. ``lines`` and ``columns`` are its two files, JSON Lines and Parquet; ``chat`` tells the conversations alone.
``exporting`` and ``importing`` string these together.
"""
