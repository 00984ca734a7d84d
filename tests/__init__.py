"""Tests, in the folders of the tree that they test. A package: another distribution installs a `tests` of its own."""
