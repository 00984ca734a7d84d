"""Language models: a protocol and its implementations.

- ``types``: the protocol ``Model``, with its messages, sampling parameters, replies, tokens and prices.
- ``registry``: load a model by its name, such as ``openai:gpt-4o-mini``. Models whose replies come from people or
  scripts are here, too.
- ``openai_api``: models behind a server that speaks OpenAI's API for chat completions. Import this module only when it
  is needed, because importing OpenAI's SDK takes most of a second.
- ``openai_replies``: read the replies and the failures of such a server.
- ``waiting``: wait for a server in a way that can be interrupted.
- ``recordings``: models that replay recorded replies, or record new ones.
"""
