"""An example of your own model class. It calls models through Ollama's chat API, which differs from OpenAI's API.

The class reports token counts and errors to planbook. Run this file with the name of a model and a server's address:

python examples/own_model.py llama3.2 http://localhost:11434
"""

import json
import sys
import urllib.request
from collections.abc import Sequence

import planbook
from planbook.planner import Message, ModelError, OnText, Reply, Sampling, Usage


class Ollama:
    """A model that an Ollama server offers. Several threads may call it at the same time, since it has no state."""

    def __init__(self, model: str, address: str) -> None:
        self.name, self._model, self._address = f"ollama:{model}", model, address

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Ask the model for a reply. The reply arrives in one piece, and is passed to ``on_text`` in one call."""
        body = {
            "model": self._model,
            "stream": False,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "options": {"temperature": sampling.temperature, "num_predict": sampling.max_tokens, "seed": sampling.seed},
        }
        request = urllib.request.Request(f"{self._address}/api/chat", json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                reply = json.load(answer)
        except OSError as error:
            raise ModelError(f"{self.name} at {self._address} did not answer: {error}") from error
        text = reply["message"]["content"]
        if on_text:
            on_text(text)
        usage = Usage(prompt=reply["prompt_eval_count"], completion=reply["eval_count"])
        return Reply(text=text, usage=usage, model=reply["model"])


if __name__ == "__main__":
    model = Ollama(*sys.argv[1:])
    try:
        run = planbook.run(env="toy", split="all:2", planner="react", model=model, budget={"calls": 20})
    except ModelError as error:
        sys.exit(str(error))
    print(run)
    for episode in run.episodes:
        print(episode["task"], episode["outcome"], episode["calls"])
