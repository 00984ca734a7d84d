"""A callback that receives a reply in pieces."""


class PieceListener:
    """Keeps the pieces that it receives, and stops the reply after ``pieces`` of them."""

    def __init__(self, pieces: int | None = None) -> None:
        self.received: list[str] = []
        self.pieces = pieces

    def __call__(self, piece: str) -> bool:
        """Keep one piece. Return False to stop the reply."""
        self.received.append(piece)
        return len(self.received) != self.pieces

    @property
    def text(self) -> str:
        """Everything that was received."""
        return "".join(self.received)
