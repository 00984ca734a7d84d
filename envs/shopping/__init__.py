"""The environment shopping: a shop with the rules of WebShop, and with our own products or those of the user's files.

- ``environment``: the environment's class, its options, tasks and actions.
- ``pages``: the shop's pages as text.
- ``catalogue``: products, customers' wishes, and the products that we sell ourselves.
- ``product_files``: reads products and wishes from files in WebShop's format.
- ``webshop``: WebShop's search and reward.
"""

from planbook.envs.shopping.environment import Shopping, ShoppingOptions

__all__ = ["Shopping", "ShoppingOptions"]
