"""The options of the world."""

from pydantic import BaseModel, ConfigDict, Field


class MinecraftOptions(BaseModel):
    """How the world is played; recorded beside every figure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ticks: int | None = Field(
        default=None,
        ge=1,
        description="Length of an episode in ticks; null: as the task's group has it (table 1), or 3000.",
    )
    time_limits: bool = Field(
        default=False,
        description="Each goal has a time limit of its own (table 18): 600 ticks, ores 3000, diamonds 12000.",
    )
    chances: bool = Field(
        default=False,
        description="Goals fail by bad luck as often as table 18 says; that costs the goal's whole time limit.",
    )
    terse: bool = Field(
        default=False,
        description="Goals that fail do not say why: only that they failed, the biome and the inventory, as in DEPS.",
    )
    durability: bool = Field(default=False, description="Tools wear out and break.")

    @classmethod
    def read(cls, options: BaseModel | None) -> "MinecraftOptions":
        """The options as given from outside, or the default ones."""
        return cls.model_validate(options.model_dump() if options else {})
