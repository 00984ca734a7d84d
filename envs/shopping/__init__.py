"""Shopping: WebShop's rules on a catalogue of our own, or on product files of the user's."""

from planbook.envs.shopping.environment import Shopping

__all__ = ["Shopping"]
