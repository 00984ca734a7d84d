"""Environments with the names, task types and splits of those in papers, for comparisons with published figures."""

from pydantic import BaseModel

from planbook.envs.toy import Toy


class Choices(BaseModel):
    """Options of the real environments, which change nothing here."""

    items: str = ""
    tasks: str | None = None
    sites: dict[str, str] = {}
    logins: str | None = None
    patience: float = 10.0


class Textcraft(Toy):
    """ADaPT's recipes, by depth."""

    name = "textcraft"
    types = ("depth_2", "depth_3", "depth_4")
    splits = ("test", "dev")


class Minecraft(Toy):
    """DEPS' tasks."""

    name = "minecraft"
    types = ("MT4_dig_down", "MT8_challenge")
    splits = ("table21",)


class Crafter(Toy):
    """AgentKit's game."""

    name = "crafter"
    types = ("survive",)
    splits = ("open",)
    all_milestones = ("wood", "stone")


class Shopping(Toy):
    """The shop of ADaPT and AgentKit."""

    name = "shopping"
    types = ("shoes",)
    splits = ("test", "dev")
    Options = Choices


class Web(Toy):
    """The web tasks of Devil's Advocate."""

    name = "web"
    types = ("look_up",)
    splits = ("all",)
    Options = Choices
