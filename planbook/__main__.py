"""Entry point of the ``planbook`` command and of ``python -m planbook``."""

import sys


def main() -> None:
    """Run the command line. Ctrl-C ends it without a traceback, even while modules are still being imported."""
    try:
        from planbook import cli

        cli.main()
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
