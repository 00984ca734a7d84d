"""Texts and goals of ALFWorld are reworded as in the paper."""

from collections.abc import Callable

import pytest

from planbook.envs.alfworld.tasks import paper_goal, params_of
from planbook.envs.alfworld.wording import HELPERS, first_text, paper_text


@pytest.mark.parametrize(
    ("game", "paper"),
    [
        ("You arrive at drawer 1. The drawer 1 is closed.", "drawer_1 is closed."),
        ("You arrive at loc 12. The drawer 1 is closed.", "drawer_1 is closed."),
        (
            "You arrive at countertop 1. On the countertop 1, you see a candle 1, a cloth 2, and a soapbar 1.",
            "On countertop_1, you see candle_1, cloth_2, and soapbar_1.",
        ),
        ("You arrive at sidetable 2. On the sidetable 2, you see nothing.", "On sidetable_2, you see nothing."),
        (
            "You arrive at fridge 1. The fridge 1 is open. In it, you see an egg 1.",
            "fridge_1 is open. In fridge_1, you see egg_1.",
        ),
        (
            "You open the cabinet 1. The cabinet 1 is open. In it, you see a cloth 1.",
            "You open cabinet_1. In cabinet_1, you see cloth_1.",
        ),
        ("You pick up the soapbar 1 from the towelholder 1.", "You take soapbar_1 from towelholder_1."),
        ("You move the soapbar 1 to the cabinet 1.", "You put soapbar_1 in/on cabinet_1."),
        ("You put the soapbar 1 in/on the cabinet 1.", "You put soapbar_1 in/on cabinet_1."),
        ("This is a hot and clean mug 1.", "This is a hot and clean mug_1."),
        ("You are carrying: a mug 1.", "You are carrying: mug_1."),
        (
            "You are facing the toaster 1, and countertop 2. Next to it, you see a mug 1.",
            "You are facing toaster_1, and countertop_2. Next to it, you see mug_1.",
        ),
        ("Nothing happens.", "Nothing happens."),
    ],
)
def test_results_are_reworded_as_in_the_paper(game: str, paper: str) -> None:
    assert paper_text(game) == paper


def test_the_first_text_is_the_room_and_the_task() -> None:
    intro = (
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see "
        "a bed 1, a desk 2, and a desk 1.\n\nYour task is to: put a clean mug in desk."
    )
    assert first_text(intro, "put a cleaned mug in desk") == (
        "You are in the middle of a room. Looking quickly around you, you see bed_1, desk_2, and desk_1.\n"
        "Your task is to: put a cleaned mug in desk."
    )


@pytest.mark.parametrize(
    ("goal", "params"),
    [
        ("put a mug in cabinet", {"object": "mug", "target": "cabinet"}),
        ("put some peppershaker on drawer", {"object": "peppershaker", "target": "drawer"}),
        ("put a clean mug in cabinet", {"object": "mug", "target": "cabinet"}),
        ("clean some ladle and put it in drawer", {"object": "ladle", "target": "drawer"}),
        ("put a hot apple in fridge", {"object": "apple", "target": "fridge"}),
        ("heat some egg and put it in garbagecan", {"object": "egg", "target": "garbagecan"}),
        ("put a cool pan in stoveburner", {"object": "pan", "target": "stoveburner"}),
        ("cool some bread and put it in countertop", {"object": "bread", "target": "countertop"}),
        ("look at bowl under the desklamp", {"object": "bowl", "lamp": "desklamp"}),
        ("examine the cd with the desklamp", {"object": "cd", "lamp": "desklamp"}),
        ("put two soapbar in cabinet", {"object": "soapbar", "target": "cabinet", "count": 2}),
        ("find two pen and put them in dresser", {"object": "pen", "target": "dresser", "count": 2}),
        ("tidy up the kitchen", {}),
    ],
)
def test_parameters_are_read_from_both_wordings_of_a_goal(goal: str, params: dict[str, object]) -> None:
    assert params_of(goal) == params
    assert params_of(paper_goal(goal)) == params


def test_only_goals_that_begin_with_put_a_clean_are_reworded() -> None:
    assert paper_goal("put a clean mug in cabinet") == "put a cleaned mug in cabinet"
    assert paper_goal("clean some mug and put it in cabinet") == "clean some mug and put it in cabinet"


def test_the_helper_finds_objects_by_their_whole_name_in_order() -> None:
    namespace: dict[str, Callable[[str, str], list[str]]] = {}
    exec(HELPERS, namespace)
    find = namespace["get_object_with_id"]
    seen = (
        "On countertop_1, you see pancake_1, pan_12, dishpan_1, pan_2, and pan_12. You are at pan_7 and holding pan_8."
    )
    assert find(seen, "pan") == ["pan_12", "pan_2"]
    assert find(seen, "Pan ") == ["pan_12", "pan_2"]
    assert find(seen, "pan_2") == ["pan_2"]
    assert find(seen, "cake") == []
    assert find("In cabinet_1, you see (cup_1), 'cup_3'.", "cup") == ["cup_1", "cup_3"]
