"""The catalogue, goals and splits of the shop."""

from collections import Counter

import pytest

from planbook.envs import BadSelection, Selection, Task
from planbook.envs.shopping import Shopping
from planbook.envs.shopping.catalogue import generated_shop
from planbook.envs.shopping.webshop import reward

SHOP = generated_shop()


def listed(split: str) -> list[Task]:
    return Shopping.select(Selection(split=split))


def test_the_catalogue_has_240_products_of_each_category() -> None:
    kinds = Counter(product.category for product in SHOP.products.values())
    assert kinds == dict.fromkeys(Shopping.types, 240)
    assert len({product.query for product in SHOP.products.values()}) == 40
    assert all(id == product.id and len(id) == 10 for id, product in SHOP.products.items())


def test_products_of_a_family_differ_in_attributes_options_and_price() -> None:
    products = list(SHOP.products.values())
    for first, swapped, dearer in zip(products[0::3], products[1::3], products[2::3], strict=True):
        assert len(set(first.attributes) - set(swapped.attributes)) == 1
        assert all(len(dearer.options[name]) == len(first.options[name]) - 1 for name in first.options)
        assert dearer.price > first.price > swapped.price


def test_the_splits_share_no_goals_and_have_the_right_sizes() -> None:
    test, dev, full, example = (listed(split) for split in ("test", "dev", "full", "example"))
    assert [len(each) for each in (test, dev, full, example)] == [100, 40, 500, 6]
    assert {task.goal for task in test} < {task.goal for task in full}
    assert {task.goal for task in full}.isdisjoint(task.goal for task in (*dev, *example))
    assert sorted(task.seed for task in (*full, *dev, *example)) == list(range(546))
    assert Shopping.select(Selection()) == test
    assert {task.split for task in dev} == {"dev"}


def test_every_goal_can_be_met_and_names_everything_that_is_judged() -> None:
    for wish in SHOP.wishes:
        product = SHOP.products[wish.product]
        chosen = {name: value for name, values in product.options.items() for value in values if value in wish.values}
        assert reward(product, chosen, wish, product) == 1.0
        assert all(each in wish.sentence for each in (*wish.attributes, *wish.values, product.query))
        assert wish.sentence.endswith(f", and price lower than {wish.price_below:.2f} dollars")


def test_few_products_of_the_wanted_kind_earn_the_full_reward() -> None:
    met = Counter[bool]()
    for wish in SHOP.wishes[::5]:
        kind = [each for each in SHOP.products.values() if each.query == SHOP.products[wish.product].query]
        for product in kind:
            values = {name: value for name, all in product.options.items() for value in all if value in wish.values}
            met[reward(product, values, wish, SHOP.products[wish.product]) == 1.0] += 1
    assert 0.01 < met[True] / met.total() < 0.25


def test_the_params_of_a_task_reveal_no_more_than_its_goal() -> None:
    for task in listed("full"):
        assert set(task.params) == {"price_below"}
        assert f"{task.params['price_below']:.2f} dollars" in task.goal
        assert SHOP.wishes[task.seed].product not in task.model_dump_json()
        assert Shopping.public_params(task) == task.params


def test_a_task_of_another_shop_is_refused() -> None:
    task = listed("test")[0].model_copy(update={"goal": "find me a boat"})
    with pytest.raises(BadSelection, match="made with other product files"):
        Shopping().reset(task)
