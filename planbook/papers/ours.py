"""What a run of ours has in every table beside a paper's rows."""

from pydantic import BaseModel, ConfigDict


class OurFigures(BaseModel):
    """In percent of all tasks that were asked for; ``spread`` is the standard deviation over the repeats."""

    model_config = ConfigDict(frozen=True)

    planner: str
    models: tuple[str, ...]
    split: str
    tasks: int
    repeats: int
    overall: float
    spread: float | None
    by_type: dict[str, float]
