"""What is a run made of: versions, data, prompts, knowledge, models, prices and seeds, recorded when it begins.

``manifest`` is the record in run.json; ``fingerprints`` takes it, with the digests of ``knowledge``, ``prompts`` and of
the user's ``own_code``, beside the ``versions``. ``changes`` says what is another since. ``before_resume`` tells that
to whoever goes on with a run, ``before_rerun`` to whoever repeats it, and ``after_rerun`` holds the repeated run
against the first.
"""
