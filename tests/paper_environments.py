"""Environments with the names of those in papers, as far as a comparison with their figures asks what they are."""

from pydantic import BaseModel

from planbook.envs.toy import Toy


class Choices(BaseModel):
    """Whose things there are."""

    items: str = ""
    tasks: str | None = None


class Textcraft(Toy):
    """ADaPT's recipes, by depth."""

    name, types, splits = "textcraft", ("depth_2", "depth_3", "depth_4"), ("test", "dev")  # type: ignore[assignment]


class Minecraft(Toy):
    """DEPS' tasks."""

    name, types, splits = "minecraft", ("MT4_dig_down", "MT8_challenge"), ("table21",)


class Crafter(Toy):
    """AgentKit's game."""

    name, types, splits = "crafter", ("survive",), ("open",)  # type: ignore[assignment]
    all_milestones = ("wood", "stone")


class Shopping(Toy):
    """The shop of ADaPT and AgentKit."""

    name, types, splits, Options = "shopping", ("shoes",), ("test", "dev"), Choices  # type: ignore[assignment]


class Web(Toy):
    """The web tasks of Devil's Advocate."""

    name, types, splits, Options = "web", ("look_up",), ("all",), Choices  # type: ignore[assignment]
