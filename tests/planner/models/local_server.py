"""A model that asks a real HTTP server on this machine, and the text that the server always answers."""

from typing import Any

from planbook.planner import Message
from planbook.planner.models.openai_api import OpenAIModel
from tests.openai_server import Server

ASK = [Message(role="system", content="You are brief."), Message(role="user", content="Say hello, twice.")]
TEXT = "hello, and once more: hello"
KEY = "sk-secret-0123456789"


def model(server: Server, **settings: Any) -> OpenAIModel:
    """Return a model that asks the server and retries almost immediately."""
    defaults: dict[str, Any] = {"base_url": server.url, "api_key": KEY, "backoff": 0.01}
    return OpenAIModel("some-model", **(defaults | settings))
