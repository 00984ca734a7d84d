"""Trac 1.6 as a site: the wiki and the tickets of a made-up software project, Tidemark."""

from planbook.envs.web.sites.trac.site import TracSite, checksum, requirements, take

__all__ = ["TracSite", "checksum", "requirements", "take"]
