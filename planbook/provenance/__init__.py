"""What is a run made of: versions, data, prompts, knowledge, models, prices and seeds, recorded when it begins.

``fingerprints`` takes the record of run.json (``planbook.run.file``), with the digests of ``knowledge``,
``prompts`` and of the user's ``own_code``. ``before_resume`` tells what has changed since to whoever goes on with a
run, ``before_rerun`` to whoever repeats it, and ``after_rerun`` holds the repeated run against the first.
"""
