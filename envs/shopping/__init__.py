"""Shopping: WebShop's rules with our catalogue, or with the user's product files.

- ``environment``: the class, its options and tasks. ``pages``: the shop's pages as text.
- ``catalogue``: products and wishes, and our own shop. ``product_files``: a shop from WebShop's files.
- ``webshop``: WebShop's search and reward.
"""

from planbook.envs.shopping.environment import Shopping, ShoppingOptions

__all__ = ["Shopping", "ShoppingOptions"]
