"""The shop's catalogue, goals and splits: the same in every process, and telling no more than the goal says."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from planbook.envs import BadSelection, Selection, Task
from planbook.envs.shopping import Shopping
from planbook.envs.shopping.catalogue import own_shop
from planbook.envs.shopping.webshop import reward

SHOP = own_shop()


def listed(split: str) -> list[Task]:
    return Shopping.select(Selection(split=split))


def test_the_catalogue_has_every_category_and_no_product_twice() -> None:
    kinds = Counter(product.category for product in SHOP.products.values())
    assert kinds == dict.fromkeys(Shopping.types, 240)
    assert len({product.query for product in SHOP.products.values()}) == 40
    assert all(id == product.id and len(id) == 10 for id, product in SHOP.products.items())


def test_products_of_a_family_differ_in_what_counts() -> None:
    products = list(SHOP.products.values())
    for first, swapped, dearer in zip(products[0::3], products[1::3], products[2::3], strict=True):
        assert len(set(first.attributes) - set(swapped.attributes)) == 1
        assert all(len(dearer.options[name]) == len(first.options[name]) - 1 for name in first.options)
        assert dearer.price > first.price > swapped.price


def test_splits_are_dealt_from_the_shuffled_goals() -> None:
    test, dev, full, example = (listed(split) for split in ("test", "dev", "full", "example"))
    assert [len(each) for each in (test, dev, full, example)] == [100, 40, 500, 6]
    assert {task.goal for task in test} < {task.goal for task in full}
    assert {task.goal for task in full}.isdisjoint(task.goal for task in (*dev, *example))
    assert sorted(task.seed for task in (*full, *dev, *example)) == list(range(546))
    assert Shopping.select(Selection()) == test
    assert Shopping.select(Selection(ids=("dev/500", "full/3")))[0].split == "dev"


def test_a_selection_takes_the_types_in_turn() -> None:
    first = [task.type for task in Shopping.select(Selection(limit=5))]
    assert sorted(first) == sorted(Shopping.types)
    assert {task.type for task in Shopping.select(Selection(types=("grocery",)))} == {"grocery"}


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        (Selection(split="valid"), "no split 'valid'"),
        (Selection(types=("books",)), "no task type books"),
        (Selection(ids=("test/100",)), "no task 'test/100'"),
        (Selection(ids=("17",)), "ids have the form SPLIT/NUMBER"),
        (Selection(seeds=(1,)), "not made from seeds"),
    ],
)
def test_an_unknown_selection_is_refused(selection: Selection, told: str) -> None:
    with pytest.raises(BadSelection, match=told):
        Shopping.select(selection)


def test_each_goal_can_be_met_and_reads_as_what_it_is_judged_by() -> None:
    for wish in SHOP.wishes:
        product = SHOP.products[wish.product]
        chosen = {name: value for name, values in product.options.items() for value in values if value in wish.values}
        assert reward(product, chosen, wish, product) == 1.0
        assert all(each in wish.sentence for each in (*wish.attributes, *wish.values, product.query))
        assert wish.sentence.endswith(f", and price lower than {wish.price_below:.2f} dollars")


def test_few_products_of_the_wanted_kind_earn_the_whole_reward() -> None:
    """Of the thirty products of the wanted kind, few are worth the whole reward, even with the right options."""
    met = Counter[bool]()
    for wish in SHOP.wishes[::5]:
        kind = [each for each in SHOP.products.values() if each.query == SHOP.products[wish.product].query]
        for product in kind:
            values = {name: value for name, all in product.options.items() for value in all if value in wish.values}
            met[reward(product, values, wish, SHOP.products[wish.product]) == 1.0] += 1
    assert 0.01 < met[True] / met.total() < 0.25


def test_a_task_says_no_more_than_its_goal() -> None:
    for task in listed("full"):
        assert set(task.params) == {"price_below"}
        assert f"{task.params['price_below']:.2f} dollars" in task.goal
        assert SHOP.wishes[task.seed].product not in task.model_dump_json()
        assert Shopping.told_params(task) == task.params


def test_a_task_of_another_shop_is_refused() -> None:
    task = listed("test")[0].model_copy(update={"goal": "find me a boat"})
    with pytest.raises(BadSelection, match="made from other product files"):
        Shopping().reset(task)


def test_it_is_the_same_in_every_process_and_made_fast() -> None:
    code = (
        "from planbook.envs.shopping.catalogue import own_shop\n"
        "from planbook.envs.shopping.environment import search\n"
        "import time; t = time.process_time(); shop = own_shop(); spent = time.process_time() - t\n"
        "import hashlib, json\n"
        "text = repr(shop) + repr([search('', '', '').results(w.sentence) for w in shop.wishes[:20]])\n"
        "print(json.dumps([hashlib.sha256(text.encode()).hexdigest(), spent]))"
    )
    began = time.monotonic()
    told = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", code],
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for seed in ("1", "2")
    ]
    assert told[0][0] == told[1][0]
    assert max(told[0][1], told[1][1]) < 1.0
    assert time.monotonic() - began < 60
