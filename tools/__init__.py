"""Programs for developing planbook. Without this file, any `tools.py` on the path would hide them."""
