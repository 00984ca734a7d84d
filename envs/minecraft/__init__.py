"""Minecraft in text, the world of the DEPS paper: real recipes, and maps of our own by seed."""

from planbook.envs.minecraft.options import MinecraftOptions
from planbook.envs.minecraft.world import Minecraft

__all__ = ["Minecraft", "MinecraftOptions"]
