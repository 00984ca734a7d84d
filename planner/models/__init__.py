"""Language models: one protocol and its implementations.

- ``types``: the protocol ``Model``, messages, sampling, replies, and what identifies a request.
- ``registry``: a model by its name on the command line.
- ``openai_api``: a server that speaks OpenAI's chat completions; ``openai_replies`` reads its replies and failures,
  ``waiting`` waits for it. Import it only where it is needed: its SDK takes most of a second to import.
- ``recordings``: answers from a recording. ``answers``: from people and scripts.
- ``tokens``: token estimates and prices. ``context``: fit a conversation into a model's context.
- ``reasoning``: separate a model's reasoning from its reply.
"""

from typing import TYPE_CHECKING

from planbook.surface import lazily

if TYPE_CHECKING:
    from planbook.planner.models.answers import ExchangeModel, ScriptedModel
    from planbook.planner.models.context import Fitted, fit, room
    from planbook.planner.models.recordings import RecordedModel
    from planbook.planner.models.registry import load_model, register_model
    from planbook.planner.models.tokens import (
        BadPrices,
        Price,
        Prices,
        estimate_prompt,
        estimate_tokens,
        estimated_usage,
    )
    from planbook.planner.models.types import (
        Finish,
        Message,
        Model,
        OnText,
        Reply,
        Sampling,
        Speaker,
        Usage,
        label,
        labelled,
        request_key,
    )
else:
    __getattr__ = lazily(__name__)

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
