"""How the catalogue of our own words things: brands, titles, descriptions and wishes."""

import random
from collections.abc import Mapping, Sequence

_BEGINS = ("Al", "Bren", "Cor", "Dal", "Em", "Fen", "Gar", "Hol", "Is", "Kel", "Lor", "Mar", "Nor", "Os", "Per")
_ENDS = ("bury", "cott", "den", "field", "gate", "hurst", "ley", "mere", "more", "rick", "stead", "ton", "vale", "wyn")
_LINES = (
    "Aurora",
    "Birch",
    "Cascade",
    "Dune",
    "Ember",
    "Fable",
    "Grove",
    "Harbor",
    "Juniper",
    "Lark",
    "Meadow",
    "Orbit",
)
_PHRASES: Mapping[str, Sequence[str]] = {
    "description": (
        "A {noun} for every day, made with {extra}. It is {first} and {second}, and comes from a small workshop.",
        "Meet the {noun} that our customers asked for: {first}, {second}, with {extra} where it matters.",
        "This {noun} goes back to an old design. New about it: {extra}. In short: {first}, {second}.",
    ),
    "bullet": (
        "What it is: {attribute}, in each {noun} that leaves our house",
        "{attribute} as one expects it",
        "Known for this: {attribute}",
    ),
    "review": (
        "Came in two days. The {noun} does what it should.",
        "My second {noun} of this kind; I would buy it again.",
        "Not quite what the picture shows, but a decent {noun}.",
        "A gift for my sister, who says that she likes the {noun}.",
    ),
    "wish": (
        "find me {listed} {noun} with {given}",
        "i am looking for {noun} that is {joined}, in {values}",
        "i need {listed} {noun}, and i would like it in {values}",
        "i want to buy {noun} with {given}, and it should be {joined}",
    ),
    "plain wish": (
        "find me {listed} {noun}",
        "i am looking for {noun} that is {joined}",
        "i want to buy {noun}, and it should be {joined}",
    ),
}


def brand(dice: random.Random) -> str:
    """A maker and the name of a line: ``Fenmere Juniper``."""
    return f"{dice.choice(_BEGINS)}{dice.choice(_ENDS)} {dice.choice(_LINES)}"


def heading(text: str) -> str:
    """As titles are written: each word with a capital letter."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split())


def phrase(of: str, dice: random.Random) -> str:
    """One of the wordings, with places for the words that it needs."""
    return dice.choice(_PHRASES[of])
