"""``planbook`` and ``python -m planbook``."""

from planbook.cli import main

if __name__ == "__main__":
    main()
