"""The shopping environment: a shop with the rules of WebShop. It sells our own products or those in the user's files.

- ``environment``: the environment class, its options, its tasks and its actions.
- ``catalogue``: the products and the customers' wishes: our own, or those in files in WebShop's format.
- ``webshop``: WebShop's pages as text, its search and its reward.
"""

from planbook.envs.shopping.environment import Shopping, ShoppingOptions

__all__ = ["Shopping", "ShoppingOptions"]
