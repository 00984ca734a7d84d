"""A module next to an environment's file."""


def half(number: int) -> float:
    return 1 / number
