"""Language models: one protocol and its implementations.

- ``types``: the protocol ``Model``, messages, sampling, replies, and the identity of a request.
- ``registry``: a model by its name on the command line.
- ``openai_api``: a server that speaks OpenAI's chat completions; ``openai_replies`` reads its replies and failures,
  ``waiting`` waits for it. Import it only when it is needed: its SDK takes most of a second to import.
- ``recordings``: answers from a recording. ``answers``: from people and scripts.
- ``tokens``: token estimates and prices. ``context``: fit a conversation into a model's context.
- ``reasoning``: separate a model's reasoning from its reply.
"""
