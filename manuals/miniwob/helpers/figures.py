"""Put a drawn figure into words.

world: miniwob
source: written by hand
"""

SHAPES = {"rect": "rectangle", "circle": "circle", "polygon": "triangle"}


def words_for(figure):
    """All words that fit an element of a drawing, such as ``{"item", "large", "red", "shape", "circle"}``."""
    attributes, text = figure["attributes"], figure["text"]
    if figure["tag"] in SHAPES:
        kind, name = "shape", SHAPES[figure["tag"]]
        size = figure["box"]["width"]
    else:
        kind, name = "digit" if text.isdigit() else "letter", text
        size = float(attributes["font-size"].replace("px", ""))
    return {"item", "large" if size > 15 else "small", attributes["fill"], kind, name}
