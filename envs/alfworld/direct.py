"""A fast engine in plain Python: the rules of all known games, written out. Equal to textworld step by step (tested)."""

import re
from collections.abc import Callable, Iterator
from typing import cast

from envs.alfworld import wording
from envs.alfworld.dialect import Dialect, read_dialect
from envs.alfworld.engine import NOTHING, Game, Reply
from envs.alfworld.goal import Goal
from envs.alfworld.scene import Scene, State, read_scene
from envs.errors import WorldBroken

Outcome = tuple[State, str] | None
"""The state after a command and what it says, or None for a command that is not admissible."""

_TASK = re.compile(r"Your task is to: [^\"]*")
_FORMS = {
    verb: re.compile(form.replace("*", r"(\S+ \d+)"))
    for verb, form in {
        "look": "look",
        "inventory": "inventory",
        "help": "help",
        "go": "go to *",
        "open": "open *",
        "close": "close *",
        "take": "take * from *",
        "move": r"move * to *",
        "put": r"put * in/on *",
        "use": "use *",
        "heat": "heat * with *",
        "cool": "cool * with *",
        "clean": "clean * with *",
        "slice": "slice * with *",
        "examine": "examine *",
    }.items()
}
_ABLE = {"heat": "heatable", "cool": "coolable", "clean": "cleanable"}
_KNIVES = frozenset({"knifetype", "butterknifetype"})


class Direct:
    """Plays one game at a time; shares nothing with other instances."""

    def __init__(self) -> None:
        self.scene: Scene
        self.state: State
        """Where things stand: full knowledge, for the search that checks generated games."""
        self._dialect: Dialect
        self._goal: Goal
        self._machines: dict[str, frozenset[str]] = {}
        self._task_line = ""
        self._won = False

    def load(self, game: Game) -> None:
        """Read the game's texts."""
        try:
            domain, grammar, problem = (str(game.data[key]) for key in ("pddl_domain", "grammar", "pddl_problem"))
        except KeyError as error:
            raise WorldBroken(f"alfworld: the game {game.id} has no {error}; the file is damaged") from error
        self._dialect = read_dialect(domain, grammar)
        self.scene = read_scene(problem)
        self._goal = Goal(self.scene)
        task = _TASK.search(grammar)
        self._task_line = task.group() if task else ""
        self._machines = {
            "heat": frozenset({"microwavetype"}),
            "cool": frozenset({"fridgetype"}),
            "clean": self._dialect.cleaners,
        }

    def reset(self) -> Reply:
        """Start from the beginning."""
        self.state = self.scene.start
        self._won = self._goal.holds(self.state)
        return Reply(wording.intro(self.scene, self.state, self._task_line), self._won)

    def step(self, command: str) -> Reply:
        """Carry out one command."""
        outcome = self._outcome(command.strip())
        if outcome is None:
            return Reply(NOTHING, self._won)
        state, text = outcome
        if state is not self.state:
            self.state, self._won = state, self._goal.holds(state)
        return Reply(text, self._won)

    def save(self) -> object:
        """The state itself: it never changes in place."""
        return self.state, self._won

    def restore(self, saved: object) -> None:
        """Take a saved state up again."""
        self.state, self._won = cast(tuple[State, bool], saved)

    def close(self) -> None:
        """Nothing is held."""

    def admissible(self) -> list[str]:
        """The commands that do something now."""
        return sorted({*self._plain_commands(), *self._commands_here(), *self._commands_in_hand()})

    # Which commands there are.

    def _plain_commands(self) -> Iterator[str]:
        yield from ("inventory", "look")
        if self._dialect.helps:
            yield "help"
        for receptacle, place in self.scene.places.items():
            if place != self.state.at:
                yield f"go to {self.scene.names[receptacle]}"

    def _commands_here(self) -> Iterator[str]:
        scene, state = self.scene, self.state
        for receptacle in scene.neighbours.get(state.at, ()):
            name = scene.names[receptacle]
            yield f"examine {name}"
            if receptacle in scene.has("openable"):
                yield f"{'close' if receptacle in state.opened else 'open'} {name}"
            for thing, where in state.inside:
                if where != receptacle:
                    continue
                if thing in scene.has("toggleable"):
                    yield f"use {scene.names[thing]}"
                if state.holding is None and thing in scene.has("pickupable") and self._accessible(receptacle):
                    yield f"take {scene.names[thing]} from {name}"

    def _commands_in_hand(self) -> Iterator[str]:
        scene, state = self.scene, self.state
        if not (held := state.holding):
            return
        put, to = ("put", "in/on") if self._dialect.puts else ("move", "to")
        yield f"examine {scene.names[held]}"
        for receptacle in scene.neighbours.get(state.at, ()):
            if self._fits(held, receptacle):
                yield f"{put} {scene.names[held]} {to} {scene.names[receptacle]}"
            for verb, kinds in self._machines.items():
                if scene.kinds[receptacle] in kinds and held in scene.has(_ABLE[verb]):
                    yield f"{verb} {scene.names[held]} with {scene.names[receptacle]}"
        if scene.kinds[held] in _KNIVES:
            for thing, where in state.lying:
                if where == state.at and thing in scene.has("sliceable"):
                    yield f"slice {scene.names[thing]} with {scene.names[held]}"

    # What the commands need.

    def _here(self, receptacle: str) -> bool:
        return self.scene.places.get(receptacle) == self.state.at

    def _accessible(self, receptacle: str) -> bool:
        return self._here(receptacle) and (
            receptacle not in self.scene.has("openable") or receptacle in self.state.opened
        )

    def _fits(self, thing: str, receptacle: str) -> bool:
        kinds = self.scene.kinds
        return self._accessible(receptacle) and (kinds[receptacle], kinds[thing]) in self.scene.can_contain

    # What the commands do.

    def _outcome(self, command: str) -> Outcome:
        verb = command.split(" ", 1)[0]
        match = _FORMS[verb].fullmatch(command) if verb in _FORMS else None
        if match is None:
            return None
        things = [self.scene.ids.get(name) for name in match.groups()]
        if None in things:
            return None
        return _ACTIONS[verb](self, *things)

    def _look(self) -> Outcome:
        return self.state, wording.around(self.scene, self.state)

    def _inventory(self) -> Outcome:
        return self.state, wording.carried(self.scene, self.state)

    def _help(self) -> Outcome:
        return (self.state, wording.HELP) if self._dialect.helps else None

    def _go(self, receptacle: str) -> Outcome:
        place = self.scene.places.get(receptacle)
        if place is None or place == self.state.at:
            return None
        arrived = place if self._dialect.arrives_at_location else receptacle
        text = wording.contents(self.scene, self.state, receptacle)
        return self.state._replace(at=place), f"You arrive at {self.scene.names[arrived]}. {text}"

    def _open(self, receptacle: str) -> Outcome:
        if not self._here(receptacle) or receptacle not in self.scene.has("openable") or receptacle in self.state.opened:
            return None
        state = self.state._replace(opened=self.state.opened | {receptacle})
        return state, f"You open the {self.scene.names[receptacle]}. {wording.contents(self.scene, state, receptacle)}"

    def _close(self, receptacle: str) -> Outcome:
        if not self._here(receptacle) or receptacle not in self.state.opened:
            return None
        state = self.state._replace(opened=self.state.opened - {receptacle})
        return state, f"You close the {self.scene.names[receptacle]}."

    def _take(self, thing: str, receptacle: str) -> Outcome:
        state, pair = self.state, (thing, receptacle)
        able = state.holding is None and pair in state.inside and thing in self.scene.has("pickupable")
        if not able or not self._accessible(receptacle):
            return None
        after = state._replace(
            holding=thing,
            inside=state.inside - {pair},
            removed=state.removed | {pair},
            lying=state.lying - {(thing, state.at)},
        )
        return after, f"You pick up the {self.scene.names[thing]} from the {self.scene.names[receptacle]}."

    def _put(self, thing: str, receptacle: str) -> Outcome:
        state, pair, names = self.state, (thing, receptacle), self.scene.names
        if state.holding != thing or not self._fits(thing, receptacle):
            return None
        after = state._replace(
            holding=None,
            inside=state.inside | {pair},
            removed=state.removed - {pair},
            lying=state.lying | {(thing, state.at)},
        )
        verb, to = ("put", "in/on") if self._dialect.puts else ("move", "to")
        return after, f"You {verb} the {names[thing]} {to} the {names[receptacle]}."

    def _put_old(self, thing: str, receptacle: str) -> Outcome:
        return self._put(thing, receptacle) if self._dialect.puts else None

    def _put_new(self, thing: str, receptacle: str) -> Outcome:
        return None if self._dialect.puts else self._put(thing, receptacle)

    def _use(self, thing: str) -> Outcome:
        if thing not in self.scene.has("toggleable"):
            return None
        if not any((thing, receptacle) in self.state.inside for receptacle in self.scene.neighbours.get(self.state.at, ())):
            return None
        return self.state._replace(toggled=self.state.toggled | {thing}), f"You turn on the {self.scene.names[thing]}."

    def _slice(self, thing: str, knife: str) -> Outcome:
        state, scene = self.state, self.scene
        able = state.holding == knife and scene.kinds.get(knife) in _KNIVES
        if not able or (thing, state.at) not in state.lying or thing not in scene.has("sliceable"):
            return None
        after = state._replace(sliced=state.sliced | {thing})
        return after, f"You sliced the {scene.names[thing]} with the {scene.names[knife]}."

    def _examine(self, thing: str) -> Outcome:
        if self._here(thing):
            return self.state, wording.contents(self.scene, self.state, thing)
        return (self.state, wording.looked_at(self.scene, self.state, thing)) if thing == self.state.holding else None

    def _heat(self, thing: str, machine: str) -> Outcome:
        return self._treat("heat", thing, machine, hot=self.state.hot | {thing}, cool=self.state.cool - {thing})

    def _cool(self, thing: str, machine: str) -> Outcome:
        return self._treat("cool", thing, machine, hot=self.state.hot - {thing}, cool=self.state.cool | {thing})

    def _clean(self, thing: str, machine: str) -> Outcome:
        return self._treat("clean", thing, machine, clean=self.state.clean | {thing})

    def _treat(self, verb: str, thing: str, machine: str, **change: frozenset[str]) -> Outcome:
        scene = self.scene
        able = self.state.holding == thing and thing in scene.has(_ABLE[verb])
        if not able or not self._here(machine) or scene.kinds.get(machine) not in self._machines[verb]:
            return None
        text = f"You {verb} the {scene.names[thing]} using the {scene.names[machine]}."
        return self.state._replace(**change), text  # type: ignore[arg-type]


_ACTIONS: dict[str, Callable[..., Outcome]] = {
    "look": Direct._look,
    "inventory": Direct._inventory,
    "help": Direct._help,
    "go": Direct._go,
    "open": Direct._open,
    "close": Direct._close,
    "take": Direct._take,
    "move": Direct._put_new,
    "put": Direct._put_old,
    "use": Direct._use,
    "heat": Direct._heat,
    "cool": Direct._cool,
    "clean": Direct._clean,
    "slice": Direct._slice,
    "examine": Direct._examine,
}
