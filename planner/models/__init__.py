"""Language models: one protocol, and what speaks it.

OpenAIModel is in ``planner.models.openai_api``: its SDK takes most of a second to import, and most commands need none.
"""

from planner.models.context import Fitted, fit, room
from planner.models.exchange import ExchangeModel
from planner.models.prices import BadPrices, Price, Prices
from planner.models.recorded import RecordedModel
from planner.models.registry import load_model
from planner.models.requests import label, labelled, request_key
from planner.models.scripted import ScriptedModel
from planner.models.tokens import estimate_prompt, estimate_tokens, estimated_usage
from planner.models.types import Finish, Message, Model, OnText, Reply, Sampling, Speaker, Usage

__all__ = [
    "BadPrices",
    "ExchangeModel",
    "Finish",
    "Fitted",
    "Message",
    "Model",
    "OnText",
    "Price",
    "Prices",
    "RecordedModel",
    "Reply",
    "Sampling",
    "ScriptedModel",
    "Speaker",
    "Usage",
    "estimate_prompt",
    "estimate_tokens",
    "estimated_usage",
    "fit",
    "label",
    "labelled",
    "load_model",
    "request_key",
    "room",
]
