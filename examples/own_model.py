"""A custom model class: Ollama's chat API, which is not OpenAI's, with token counts and errors.

python examples/own_model.py llama3.2 http://localhost:11434
"""

import json
import sys
import urllib.request
from collections.abc import Sequence

import planbook
from planbook.planner import Message, ModelError, OnText, Reply, Sampling, Usage


class Ollama:
    """A model behind Ollama. Several threads may call it at once, since it keeps nothing between calls."""

    def __init__(self, model: str, address: str) -> None:
        self.name, self._model, self._address = f"ollama:{model}", model, address

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Ask for a reply. It comes in one piece, which is passed to ``on_text``."""
        body = {
            "model": self._model,
            "stream": False,
            "messages": [{"role": each.role, "content": each.content} for each in messages],
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
    played = planbook.run(env="toy", split="all:2", planner="react", model=Ollama(*sys.argv[1:]), budget={"calls": 20})
    print(played)
    for episode in played.episodes:
        print(episode["task"], episode["outcome"], episode["calls"])
