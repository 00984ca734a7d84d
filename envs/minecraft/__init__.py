"""Minecraft in text, the world of the DEPS paper: real recipes, and maps of our own by seed."""

from planbook.envs.minecraft.environment import Minecraft, MinecraftOptions

__all__ = ["Minecraft", "MinecraftOptions"]
