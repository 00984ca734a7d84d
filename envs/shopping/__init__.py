"""Shopping: WebShop's rules on a catalogue of our own, or on product files of the user's."""

from planbook.envs.shopping.world import Shopping

__all__ = ["Shopping"]
