"""What can be set for the world, and what follows from it for one task."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from envs.web.addresses import Gate, host_of, is_near
from envs.web.tasks import WebTask, load_tasks, offered

OWN = "own"
"""Id and type of a task of the user's own."""
Address = Annotated[str, Field(pattern=r"^https?://")]


class Options(BaseModel):
    """``start`` and ``goal`` make a task of your own; ``tasks`` names a file of them, by default the shipped ones.

    ``sites``: the addresses behind the names in braces of a task file. ``allowed``: patterns of hosts, or of hosts with
    ports, that may be visited besides those of the task (``*.example.org``, ``127.0.0.1:8000``, ``*``). Without it, a
    task whose start is on the internet may go anywhere there, but nowhere on this machine or its network, and one whose
    start is on this machine or its network may go to the hosts and ports of the task only.

    ``patience``: seconds that a page may take to load or to answer. ``characters``: how much of a page is told at most.
    ``paper_actions``: only the actions of the paper, and no ``find``. ``approximate`` and ``logged_in`` are for
    WebArena's files (see ``envs.web.tasks``).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: Path | None = None
    sites: dict[str, Address] = Field(default_factory=dict)
    start: Address | None = None
    goal: str = ""
    allowed: tuple[str, ...] = ()
    patience: float = Field(default=10.0, gt=0, le=120)
    characters: int = Field(default=12_000, ge=200)
    paper_actions: bool = False
    approximate: bool = False
    logged_in: bool = False

    @model_validator(mode="after")
    def _whole(self) -> "Options":
        if self.goal and self.start is None:
            raise ValueError("a goal needs a start address: -o start=http://...")
        if self.start is not None and self.tasks is not None:
            raise ValueError("start makes a task of your own, tasks names a file of them: give one of the two")
        return self


def chosen(options: BaseModel | None, ids: tuple[str, ...] = ()) -> list[WebTask]:
    """The tasks under these options. Raises BadSelection."""
    given = options if isinstance(options, Options) else Options()
    if given.start is not None:
        goal = given.goal or f"look around at {given.start}"
        return [WebTask(id=OWN, type=OWN, kind="look_up", goal=goal, start=given.start)]
    listed = load_tasks(given.tasks, given.sites, approximate=given.approximate, logged_in=given.logged_in)
    return offered(listed, ids)


def gate_of(options: Options, task: WebTask) -> Gate:
    """What may be visited for a task whose addresses are in place."""
    starts = [task.start, *task.more_tabs]
    hosts = dict.fromkeys(host_of(url)[1] for url in [*starts, *options.sites.values()])
    public = not options.allowed and not any(is_near(host_of(url)[0]) for url in starts)
    return Gate((*hosts, *options.allowed), public)
