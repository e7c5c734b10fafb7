"""A drawing read back from its SVG: texts and boxes with their extents, in points."""

from dataclasses import dataclass
from itertools import combinations
from re import match
from xml.etree import ElementTree

from tests.diagram.configurations import apart, inside
from transformer.diagram.blocks import Box
from transformer.diagram.drawing import Diagram
from transformer.diagram.text_width import text_width

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Text:
    """A line of text, with the box that its letters fill."""

    said: str
    size: float
    box: Box


@dataclass(frozen=True)
class Drawn:
    """What is in a drawing."""

    page: Box
    texts: list[Text]
    boxes: list[tuple[Box, str]]  # with their titles
    root: ElementTree.Element

    def titled(self, start: str) -> list[tuple[Box, str]]:
        """The boxes whose title starts with this."""
        return [box for box in self.boxes if box[1].startswith(start)]

    def frames(self) -> list[str]:
        """The numbers of the layers that each frame says, from the foot of the first stack."""
        return [said[0] for _, title in self.boxes if (said := match(r"layers? \d[^·]*(?= ·)", title))]

    def texts_in(self, box: Box) -> list[str]:
        """What is written in a box, from its top."""
        return [text.said for text in sorted(self.texts, key=lambda one: (one.box[1], one.box[0]))
                if inside(text.box, box)]

    def faults(self) -> list[str]:
        """Texts too small, on each other, across an edge, or outside of the page."""
        found = [f"{text.said!r} is {text.size:g} pt" for text in self.texts if text.size < 7]
        found += [f"{text.said!r} leaves the page" for text in self.texts if not inside(text.box, self.page)]
        found += [f"{a.said!r} lies on {b.said!r}" for a, b in combinations(self.texts, 2) if not apart(a.box, b.box)]
        found += [f"{text.said!r} crosses the edge of {title!r}" for text in self.texts for box, title in self.boxes
                  if not apart(text.box, box) and not inside(text.box, box)]
        found += [f"{a!r} lies across {b!r}" for (one, a), (other, b) in combinations(self.boxes, 2)
                  if not apart(one, other) and not inside(one, other) and not inside(other, one)]
        found += [f"{title!r} leaves the page" for box, title in self.boxes if not inside(box, self.page)]
        return found


def read(diagram: Diagram) -> Drawn:
    """A drawing as it is in its SVG."""
    root = ElementTree.fromstring(diagram.svg)
    page = tuple(map(float, root.get("viewBox").split()))
    texts, boxes = [], []
    for element in root.iter(f"{SVG}text"):
        size = float(element.get("font-size"))
        width = text_width(element.text, size, bold=element.get("font-weight") == "bold")
        left = float(element.get("x")) - {"start": 0, "middle": width / 2, "end": width}[element.get("text-anchor")]
        # from the top of capitals to the foot of a g
        texts.append(Text(element.text, size, (left, float(element.get("y")) - 0.73 * size, width, 0.94 * size)))
    for element in root.iter(f"{SVG}rect"):
        title = element.find(f"{SVG}title")
        if title is not None:
            boxes.append((tuple(float(element.get(name)) for name in ("x", "y", "width", "height")), title.text))
    return Drawn(page, texts, boxes, root)
