"""The commands. ``planbook.cli`` lists them, and imports the module of a command when the command is called.

- ``playing`` defines `run` and `join`, and the functions that all commands use to play a run.
- ``testing`` defines `test`; ``learning`` defines `build`, `formulate`, `rules` and `effect`.
- ``demo`` defines `demo`, which calls other commands.
- ``rerunning`` defines `replay`, `rerun` and `fork`.
- ``viewing`` defines `show`, `report`, `watch`, `compare` and `stats`.
- ``exchanging`` defines `export`, `import`, `skills` and `mcp`.
- ``graphs`` defines `graph`. ``graph_runs`` runs a prompt graph without an environment; `run` plays graphs in one.
- ``checking`` defines `check`, `check-env` and `exec`; ``inspection`` defines `envs`, `planners` and `bench`.
- ``click_options`` builds the options of all commands.
"""
