"""What a run is made of: versions, data, prompts, knowledge, models, prices and seeds, recorded when it begins.

``making`` takes it down, ``changes`` says what is another since, ``noticing`` tells that to whoever goes on with a run,
and ``sameness`` holds a repeated run against the first.
"""
