"""Programs for the development of planbook. Without this file, a `tools.py` anywhere on the path would hide them."""
