"""Language models: a protocol and its implementations.

- ``types``: the protocol ``Model``, with its messages, sampling parameters, replies, tokens and prices.
- ``registry``: load a model by its name, such as ``openai:gpt-4o-mini``.
- ``stand_ins``: models that need no language model: a function or a list of replies answers, or a person in files.
- ``openai_api``: models behind a server that speaks OpenAI's API for chat completions. Import this module only when it
  is needed, because importing OpenAI's SDK takes most of a second.
- ``openai_replies``: read the replies and the failures of a server that speaks OpenAI's API.
- ``waiting``: wait for a server until it answers or the user stops the run.
- ``recordings``: models that replay recorded replies, or record new ones.
"""
