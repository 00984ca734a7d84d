"""Detect values that look like secrets, such as API keys, judging by a value's name or its form."""

import re
from collections.abc import Sequence
from urllib.parse import unquote_plus, urlsplit

from pydantic import JsonValue

SECRET_LENGTH = 4
"""Minimum length of a secret. Shorter values, such as "1", are common in ordinary text and never count as secrets."""
_SECRET_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|credentials?|bearer|authorization|cookie)$", re.IGNORECASE
)
_HARMLESS_NAME = re.compile(
    r"(?:sort|group|order|primary|foreign|partition|public|index|join|cache)[-_]?key$|(?:max|stop)[-_]?token$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"(?:sk|pk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf|AKIA|eyJ)[-_\w]{12,}")
_HEADER = re.compile(
    r"(?:--?[\w-]+=)?((?:x-[\w-]+|(?:proxy-)?authorization|(?:set-)?cookie|api-?key|(?:private|auth|access)-token|--[\w-]+)"
    r"(?=:)|[\w-]+(?=: )): *(.+)",
    re.IGNORECASE,
)
"""A request header, such as ``Authorization: Bearer ...``.

If no space follows the colon, only the names of well-known headers match, since other text, such as ``NAME:TAG``, may
name a Docker image.
"""
_SECRET_IN_PATH = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w-]{24,}")


def holds_secret(name: str, value: JsonValue) -> bool:
    """Return whether a value, or one inside it, looks like a secret, judging by its name or its form."""
    if isinstance(value, dict):
        return any(holds_secret(key, item) for key, item in value.items())
    if isinstance(value, list):
        return any(holds_secret(name, item) for item in value)
    if not isinstance(value, str) or len(value) < SECRET_LENGTH or value[0] in "$-":
        return False
    has_secret_name = _SECRET_NAME.search(name) and not _HARMLESS_NAME.search(name)
    return bool(has_secret_name or _SECRET_VALUE.fullmatch(value))


def secrets_in_command(words: Sequence[str]) -> set[str]:
    """Return the parts of a command that look like secrets. ``words`` are the words of the command, or a single URL.

    A secret in the query of a URL is returned in two forms: as it is written in the URL, and decoded.
    """
    secrets = {word for word in words if holds_secret("", word)}
    for word, next_word in zip(words, [*words[1:], ""], strict=True):
        try:
            url = urlsplit(word) if re.match(r"\w+://", word) else None
        except ValueError:  # the address is malformed, such as http://[
            url = None
        if url is not None:
            pairs = [*(part.partition("=")[::2] for part in url.query.split("&")), ("password", url.password or "")]
            candidates = [(unquote_plus(name), text) for name, value in pairs for text in (value, unquote_plus(value))]
            secrets |= set(filter(_SECRET_IN_PATH.fullmatch, url.path.split("/")))
        else:
            name, equals, value = word.partition("=")
            candidates = [(name, value if equals else next_word)] if equals or name.startswith("-") else []
            if header := _HEADER.fullmatch(word):
                parts = (part for part in re.findall(r"[^\s;,]+", header[2]) if "=" in part)
                values = [header[2].split()[-1], *(re.sub(r"^[\w-]+=(?=[^=])", "", part).strip('"') for part in parts)]
                candidates += [(header[1], value) for value in values]
        secrets |= {value for name, value in candidates if holds_secret(name, value)}
    return secrets
