"""The database of a graph: JSON values by dotted path, shared by all nodes and kept from one pass to the next."""

from collections.abc import Mapping
from copy import deepcopy

from pydantic import JsonValue, TypeAdapter, ValidationError

from planbook.planner.errors import GraphError
from planbook.planner.graph.lookups import DATABASE, LookUp, at, checked_path, fill, nearest, paths_of, told
from planbook.planner.rendered import Rendered

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def json_value(value: JsonValue, what: str) -> JsonValue:
    """Return the value as it is, a rendered text with its data. Raises GraphError where it is none of JSON."""
    try:
        _JSON.validate_python(value, strict=True)
    except ValidationError as error:
        raise GraphError(f"{what}: {error.errors()[0]['msg']}; only values of JSON can be kept") from error
    return value


class Database:
    """Values go in and come out as copies: nobody changes what is stored without saying so.

    Hooks may use keys of any text in the mappings that they store; paths only reach plain names.
    """

    def __init__(self, values: Mapping[str, JsonValue] | None = None) -> None:
        self._values: dict[str, JsonValue] = deepcopy(dict(values or {}))
        self._locked = False
        self.written: dict[str, None] = {}
        """The paths that were stored at, taken out or added to, in order, since this was last emptied."""

    def view(self) -> "Database":
        """The same values, to read only: for those who may be asked side by side."""
        view = Database()
        view._values, view._locked = self._values, True
        return view

    def get(self, path: str) -> JsonValue:
        """The value at a path. Raises GraphError, with the nearest path that there is."""
        try:
            return deepcopy(at(self._values, checked_path(path)))
        except KeyError:
            alike = nearest(path, paths_of(self._values))
            raise GraphError(f"the database has nothing at {path}{alike}") from None

    def has(self, path: str) -> bool:
        """Whether anything is stored there, None and empty texts included."""
        try:
            at(self._values, path)
        except KeyError:
            return False
        return True

    def set(self, path: str, value: JsonValue) -> None:
        """Store a value; mappings on the way are made. Raises GraphError where something else is in the way."""
        place, last = self._place(path)
        place[last] = deepcopy(json_value(value, path))

    def append(self, path: str, value: JsonValue) -> None:
        """Add to the end of a list, which is made if it is not there. Raises GraphError where there is no list."""
        place, last = self._place(path)
        items = place.setdefault(last, [])
        if not isinstance(items, list):
            raise GraphError(f"{path} of the database is no list, so that nothing can be added to it")
        items.append(deepcopy(json_value(value, path)))

    def delete(self, path: str) -> None:
        """Take a value out. Raises GraphError where there is none."""
        self.get(path)
        place, last = self._place(path)
        if last not in place:
            raise GraphError(f"{path} is an item of a list; store the list anew without it")
        del place[last]

    def values(self) -> dict[str, JsonValue]:
        """A copy of everything."""
        return deepcopy(self._values)

    def look_up(self, text: str, *, given: Mapping[str, JsonValue] | None = None) -> Rendered:
        """The text with its look-ups replaced: ``$db.path$``, ``$db.path|else$``, and ``$item$`` of what is ``given``.

        The values are the data of the text. Raises GraphError for a path that does not exist and says nothing else.
        """
        found: dict[str, JsonValue] = {**(given or {}), DATABASE: self._values}
        values: list[JsonValue] = []

        def find(look_up: LookUp) -> str:
            try:
                value = at(found[look_up.name], look_up.path)
                values.append({look_up.path.rpartition(".")[2]: value})
                return told(value)
            except KeyError:
                if look_up.otherwise is not None:
                    return look_up.otherwise
                alike = nearest(look_up.path, paths_of(found[look_up.name]))
                raise GraphError(
                    f"{look_up.text} finds nothing{alike} Store something there before, or write what stands instead: "
                    f"{look_up.text[:-1]}|nothing yet$"
                ) from None

        return Rendered.of(fill(text, found, find).strip(), values)

    def _place(self, path: str) -> tuple[dict[str, JsonValue], str]:
        """The mapping that holds the end of a path, and its name there."""
        if self._locked:
            raise GraphError(f"{path} cannot be changed here: only a finish hook and `store` change the database")
        *way, last = checked_path(path).split(".")
        place = self._values
        for number, name in enumerate(way):
            inner = place.setdefault(name, {})
            if not isinstance(inner, dict):
                there = ".".join(way[: number + 1])
                raise GraphError(f"{path} cannot be stored: {there} of the database is a value, not a group of values")
            place = inner
        self.written[path] = None
        return place, last
