"""What can be set for the world, and what follows from it for one task."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from planbook.envs.web.addresses import Gate, host_of, is_near
from planbook.envs.web.tasks import WebTask, load_tasks, offered

OWN = "own"
"""Id and type of a task of the user's own."""


def _web_address(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"{text!r} is no address: write http://HOST or https://HOST, and what follows")
    return text


Address = Annotated[str, AfterValidator(_web_address)]


class Options(BaseModel):
    """Which tasks there are, where a browser may go for them, and how pages are told.

    Each field's description is what ``planbook envs --env web`` tells of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: Path | None = Field(
        default=None, description="A file of tasks, of our format or WebArena's; null is the shipped ones."
    )
    sites: dict[str, Address] = Field(
        default_factory=dict, description="The addresses (http://...) behind the names in braces of a task file."
    )
    start: Address | None = Field(
        default=None, description="The address (http://...) at which a task of your own begins; not beside tasks."
    )
    goal: str = Field(default="", description="What is to be done from start; without it, to look around there.")
    allowed: tuple[str, ...] = Field(
        default=(),
        description="Patterns of hosts, or of hosts with ports, that may be visited besides those of the task: "
        "*.example.org, 127.0.0.1:8000, *. Without any, a task whose start is on the internet may go anywhere there, "
        "but nowhere on this machine or its network; one whose start is on this machine or its network may go to the "
        "hosts and ports of the task only.",
    )
    patience: float = Field(
        default=10.0, gt=0, le=120, description="Seconds that a page may take to load or to answer."
    )
    characters: int = Field(default=12_000, ge=200, description="How much of a page is told at most.")
    paper_actions: bool = Field(
        default=False, description="Only the actions of the paper, and no find (also --paper-actions)."
    )
    approximate: bool = Field(
        default=False,
        description="For WebArena's files: a comparison of words stands in for the model that judges there.",
    )
    logins: Path | None = Field(
        default=None,
        description="For WebArena's files: the folder of the logins that tasks name (storage_state), as its auto_login "
        "writes them.",
    )
    logged_in: bool = Field(
        default=False, description="For WebArena's files: the sites log the browser in by themselves."
    )

    @model_validator(mode="after")
    def _whole(self) -> "Options":
        if self.goal and self.start is None:
            raise ValueError("a goal needs an address to start from: --option start=http://...")
        if self.start is not None and self.tasks is not None:
            raise ValueError("start makes a task of your own, tasks names a file of them: give one of the two")
        return self


def chosen(options: BaseModel | None, ids: tuple[str, ...] = ()) -> list[WebTask]:
    """The tasks under these options that can be judged. Raises BadSelection."""
    return offered(every_task(options), ids)


def every_task(options: BaseModel | None) -> list[WebTask]:
    """Return the tasks under these options, those too that cannot be judged. Raises BadSelection."""
    given = options if isinstance(options, Options) else Options()
    if given.start is not None:
        goal = given.goal or f"look around at {given.start}"
        return [WebTask(id=OWN, type=OWN, kind="look_up", goal=goal, start=given.start)]
    return load_tasks(
        given.tasks, given.sites, approximate=given.approximate, logged_in=given.logged_in, logins=given.logins
    )


def gate_of(options: Options, task: WebTask) -> Gate:
    """What may be visited for a task whose addresses are in place."""
    starts = [task.start, *task.more_tabs]
    hosts = dict.fromkeys(host_of(url)[1] for url in [*starts, *options.sites.values()])
    public = not options.allowed and not any(is_near(host_of(url)[0]) for url in starts)
    return Gate((*hosts, *options.allowed), public)
