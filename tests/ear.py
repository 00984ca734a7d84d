"""A listener that receives a reply in pieces."""


class PieceListener:
    """Keeps the pieces that it hears, and stops the reply after ``pieces`` of them."""

    def __init__(self, pieces: int | None = None) -> None:
        self.heard: list[str] = []
        self.pieces = pieces

    def __call__(self, piece: str) -> bool:
        """Hear one piece; return False to stop the reply."""
        self.heard.append(piece)
        return len(self.heard) != self.pieces

    @property
    def text(self) -> str:
        """All that was heard."""
        return "".join(self.heard)
