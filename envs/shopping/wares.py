"""What a shop holds: products, and what customers want of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

NO_BOUND = 1_000_000.0
"""The upper price of a wish that names none."""


@dataclass(frozen=True)
class Product:
    """One product. Prices are dollars; all texts are as the shop was given them.

    ``options`` has, by name of the option, its values and what each adds to ``price``. ``category`` is the shop's own
    (``beauty``), ``query`` the words that products of the kind are found by, ``path`` where they stand in the shop
    (``Beauty & Personal Care › Skin Care › Body Lotion``). ``shown`` is the price range on the page where the price
    does not follow from the options.
    """

    id: str
    title: str
    category: str
    query: str
    path: str
    description: str
    bullets: tuple[str, ...]
    attributes: tuple[str, ...]
    options: Mapping[str, Mapping[str, float]]
    price: float
    shown: tuple[float, float] | None = None
    rating: str = "N.A."
    reviews: tuple[str, ...] = ()

    def price_of(self, chosen: Mapping[str, str]) -> float:
        """What is paid; an option that was not chosen comes as its first value."""
        extras = (added.get(chosen.get(name, next(iter(added))), 0.0) for name, added in self.options.items())
        return round(self.price + sum(extras), 2)

    def price_range(self, chosen: Mapping[str, str]) -> tuple[float, float]:
        """The least and the most that it may cost as far as was chosen by now."""
        if self.shown or not chosen:
            return self.shown or self._whole_range
        return self._range(chosen)

    @cached_property
    def _whole_range(self) -> tuple[float, float]:
        return self._range({})

    def _range(self, chosen: Mapping[str, str]) -> tuple[float, float]:
        extras = [[added[chosen[name]]] if name in chosen else added.values() for name, added in self.options.items()]
        return round(self.price + sum(map(min, extras)), 2), round(self.price + sum(map(max, extras)), 2)


@dataclass(frozen=True)
class Wish:
    """What a customer wants: the sentence that the agent is told, and what the purchase is judged by.

    ``values`` are those of the wanted options. The product it was made from also says which kind is meant.
    """

    sentence: str
    product: str
    attributes: tuple[str, ...]
    values: tuple[str, ...]
    price_upper: float = NO_BOUND

    @property
    def price_below(self) -> float | None:
        """The upper price, if the sentence names one."""
        return None if self.price_upper >= NO_BOUND else self.price_upper


@dataclass(frozen=True)
class Shop:
    """All products by id, and all wishes in the order in which they are dealt out to the splits."""

    products: Mapping[str, Product]
    wishes: Sequence[Wish]


def price_text(amount: float) -> str:
    """``$12.50``."""
    return f"${amount:,.2f}"


def price_clause(upper: float) -> str:
    """How a wish's sentence ends where it names a price."""
    return f", and price lower than {upper:.2f} dollars"
