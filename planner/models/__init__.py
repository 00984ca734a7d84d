"""Language models: one protocol and its implementations.

OpenAIModel is in ``planbook.planner.models.openai_api``: its SDK takes most of a second to import, and most commands do
not need it.
"""

from planbook.planner.models.context import Fitted, fit, room
from planbook.planner.models.exchange import ExchangeModel
from planbook.planner.models.prices import BadPrices, Price, Prices
from planbook.planner.models.recorded import RecordedModel
from planbook.planner.models.registry import load_model, register_model
from planbook.planner.models.requests import label, labelled, request_key
from planbook.planner.models.scripted import ScriptedModel
from planbook.planner.models.tokens import estimate_prompt, estimate_tokens, estimated_usage
from planbook.planner.models.types import Finish, Message, Model, OnText, Reply, Sampling, Speaker, Usage

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
    "register_model",
    "request_key",
    "room",
]
