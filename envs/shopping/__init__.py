"""The environment shopping: a shop with the rules of WebShop, and with our own products or those of the user's files.

- ``environment``: the environment's class, its options, tasks and actions.
- ``catalogue``: products and customers' wishes: our own, and those in files in WebShop's format.
- ``webshop``: WebShop's pages as text, and its search and reward.
"""

from planbook.envs.shopping.environment import Shopping, ShoppingOptions

__all__ = ["Shopping", "ShoppingOptions"]
