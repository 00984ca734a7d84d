"""An agent loop that uses only the sandbox of planbook. In this chat, the model writes code that can do no harm.

OPENAI_API_KEY=... python examples/agent_loop.py MODEL "Which fruits start with p?"
"""

import re
import sys

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

from planbook.sandbox import Limits, Sandbox

SHELF = {"fruit": ["apple", "peach", "pear", "plum"], "nut": ["hazel", "walnut"]}


def stock(kind: str) -> list[str]:
    """List what the shop has of a kind: fruit or nut."""
    return SHELF.get(kind, [])


def answer(text: str) -> str:
    """Give the final answer."""
    answers.append(text)
    return "thank you"


answers: list[str] = []
SYSTEM = (
    """Answer by writing Python in a ```python block. It may call
stock(kind: str) -> list[str]: """
    + str(stock.__doc__)
    + """
answer(text: str): """
    + str(answer.__doc__)
)


def loop(model: str, question: str, turns: int = 5) -> str:
    """Let the model write code, run the code, and show the model the result, until it gives an answer."""
    client = OpenAI()
    chat: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": question},
    ]
    limits = Limits(wall_seconds=5, memory_mb=128)
    with Sandbox() as sandbox, sandbox.session({"stock": stock, "answer": answer}, limits=limits) as session:
        for _ in range(turns):
            reply = client.chat.completions.create(model=model, messages=chat).choices[0].message.content or ""
            code = "\n".join(re.findall(r"```python\n(.*?)```", reply, re.DOTALL))
            result = session.run(code)
            if answers:
                return answers[-1]
            observation = f"Output: {result.output}\nValue: {result.value!r}\n{result.fault or ''}"
            chat += [{"role": "assistant", "content": reply}, {"role": "user", "content": observation}]
    return "no answer"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(loop(sys.argv[1], sys.argv[2]))
