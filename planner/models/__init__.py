"""Language models: a protocol and its implementations.

- ``types``: the protocol ``Model``, with its messages, sampling parameters and replies.
- ``registry``: load a model by its name, such as ``openai:gpt-4o-mini``.
- ``openai_api``: models behind a server that speaks OpenAI's API for chat completions. Import this module only when it
  is needed, because importing OpenAI's SDK takes most of a second.
- ``openai_replies``: read the replies and the failures of such a server.
- ``waiting``: wait for a server in a way that can be interrupted.
- ``recordings``: models that replay recorded replies, or record new ones.
- ``answers``: models whose replies come from people or scripts.
- ``context``: shorten a conversation so that it fits into a model's context.
- ``reasoning``: separate a model's reasoning from its reply.
- ``tokens``: estimate numbers of tokens, and compute prices.
"""
