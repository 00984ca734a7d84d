"""The planning methods, told to who has to choose one: what each asks, takes, and shows of the worlds."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from planbook import errors
from planbook.console import console
from planbook.envs import known_environments
from planbook.manuals import demonstrated
from planbook.option_values import option_facts, options_table
from planbook.papers import settings_of_papers
from planbook.planner import METHODS, Method, UnknownStrategy, method, registered_methods
from planbook.terminal.printing import answer

SOMETIMES = "sometimes"


def show_planners(name: str | None, *, as_json: bool) -> int:
    """All methods; or one, with its options and demonstrations. Raises UnknownStrategy."""
    chosen, unusable = ({name: method(name)}, {}) if name else _all_methods()
    out = console(as_json)
    if name is None:
        out.print(_methods_table(chosen))
        for told in unusable.values():
            out.print(told, style="yellow", soft_wrap=True)
        out.print(
            f"{SOMETIMES}: depending on the environment and the options. `planbook planners NAME` has the details."
        )
    else:
        for table in (
            _method_table(name, chosen[name]),
            options_table(chosen[name].options, "--planner-option"),
            _demonstrations_table(chosen[name]),
            _papers_table(name),
        ):
            if table.row_count:
                out.print(table)
    facts = {each: _facts(each, strategy) for each, strategy in chosen.items()}
    return answer(errors.OK, {"planners": facts, "unusable": unusable}, as_json=as_json)


def _all_methods() -> tuple[dict[str, Method], dict[str, str]]:
    """The methods that ship and those that other packages register; and of registered ones why they cannot be used."""
    methods, unusable = {**METHODS}, dict[str, str]()
    for name, point in registered_methods().items():
        if name in METHODS:
            unusable[name] = f"{point.value} is registered as {name!r}, the name of a method that ships: it is not used"
            continue
        try:
            methods[name] = method(name)
        except UnknownStrategy as error:
            unusable[name] = str(error)
    return methods, unusable


def _methods_table(methods: Mapping[str, Method]) -> Table:
    table = Table(title="planning methods", title_justify="left")
    for column in ("name", "what it does", "whom it asks"):
        table.add_column(column, no_wrap=column == "name")
    for name, strategy in methods.items():
        table.add_row(name, strategy.summary, _roles(strategy))
    return table


def _method_table(name: str, strategy: Method) -> Table:
    table = Table(title=name, title_justify="left", show_header=False)
    table.add_row("what it does", strategy.summary)
    table.add_row("whom it asks", _roles(strategy))
    return table


def _demonstrations_table(strategy: Method) -> Table:
    table = Table(title="what it shows of the environments", title_justify="left")
    for column in ("world", "demonstrations", "not there"):
        table.add_column(column)
    names = strategy.demonstrations
    for world, there in _shown(strategy).items():
        table.add_row(world, ", ".join(there) or "none", ", ".join(each for each in names if each not in there))
    return table


def _papers_table(name: str) -> Table:
    table = Table(title="what --paper sets", title_justify="left")
    for column in ("paper", "environment", "split", "settings"):
        table.add_column(column)
    for (env, split), theirs in settings_of_papers(name).items():
        table.add_row(theirs.paper, env, split, str(theirs))
    return table


def _roles(strategy: Method) -> str:
    return (
        ", ".join(f"{role} ({SOMETIMES})" if role in strategy.sometimes else role for role in strategy.roles) or "none"
    )


def _shown(strategy: Method) -> dict[str, tuple[str, ...]]:
    """The demonstrations that ship, by world; empty for a method that shows none."""
    names = strategy.demonstrations
    return {world: demonstrated(world, names) for world in sorted(known_environments())} if names else {}


def _facts(name: str, strategy: Method) -> dict[str, Any]:
    papers = settings_of_papers(name).items()
    return {
        "summary": strategy.summary,
        "roles": strategy.roles,
        "asked_sometimes": sorted(strategy.sometimes),
        "options": option_facts(strategy.options),
        "demonstrations": strategy.demonstrations,
        "demonstrations_by_world": _shown(strategy),
        "papers": [{"env": env, "split": split, **theirs.facts()} for (env, split), theirs in papers],
    }
