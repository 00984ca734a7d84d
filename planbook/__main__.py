"""``python -m planbook``."""

from planbook.cli import main

main()
