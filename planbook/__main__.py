"""``planbook`` and ``python -m planbook``."""

import gc

gc.disable()  # nothing of what is imported is garbage: looking for some is an eighth of the time that it takes
from planbook.cli import main  # noqa: E402

gc.freeze()
gc.enable()

if __name__ == "__main__":
    main()
