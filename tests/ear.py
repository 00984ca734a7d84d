"""A listener to a reply's pieces."""


class Ear:
    """Keeps what it hears, and wants so many pieces at most."""

    def __init__(self, pieces: int | None = None) -> None:
        self.heard: list[str] = []
        self.pieces = pieces

    def __call__(self, piece: str) -> bool:
        """Hear one piece; False once it is enough."""
        self.heard.append(piece)
        return len(self.heard) != self.pieces

    @property
    def text(self) -> str:
        """All that was heard."""
        return "".join(self.heard)
