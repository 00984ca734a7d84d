"""Language models: one protocol, and what speaks it."""

from planner.models.types import Finish, Message, Model, OnText, Reply, Sampling, Speaker, Usage

__all__ = ["Finish", "Message", "Model", "OnText", "Reply", "Sampling", "Speaker", "Usage"]
