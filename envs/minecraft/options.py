"""The options of the world."""

from pydantic import BaseModel, ConfigDict, Field


class MinecraftOptions(BaseModel):
    """How the world is played; recorded beside every figure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ticks: int | None = Field(default=None, ge=1)
    """Length of an episode; by default that of the task's group (table 1), and 3000 for parallel goals."""
    time_limits: bool = False
    """Whether each goal has a time limit of its own (table 18): 600 ticks, ores 3000, diamonds 12000."""
    chances: bool = False
    """Whether goals fail by bad luck as often as table 18 says; that costs the goal's whole time limit."""
    durability: bool = False
    """Whether tools wear out and break."""

    @classmethod
    def read(cls, options: BaseModel | None) -> "MinecraftOptions":
        """The options as given from outside, or the default ones."""
        return cls.model_validate(options.model_dump() if options else {})
