"""The architecture of a model as a drawing for papers and slides: vectors and text, to scale for print.

It is laid out from the blocks of `blocks.py`, from the bottom up, with what each reads, adds and holds. Lengths are in
points; a model of two stacks is 17 cm wide.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil
from os import PathLike
from pathlib import Path

from transformer.basics.design import colour
from transformer.basics.formatting import amount, how_many
from transformer.diagram.blocks import COLOURS, Block, Heads, Shape, model_blocks
from transformer.diagram.repeats import Cycle, Run, drawn_once, layer_numbers
from transformer.diagram.text_width import FAMILY, fitted, text_width, wrapped
from transformer.settings.config import ModelConfig

LEAST, TEXT, NAME, TIMES = 7.0, 7.2, 8.2, 11.0  # sizes of text
LINE = 9.4  # from line to line
TWO_STACKS, ONE_STACK, ONE_PARALLEL = 482.0, 270.0, 380.0  # widths
GAP, EDGE, MARGIN = 30.0, 6.0, 32.0  # between stacks; around all; beside a stack
BRACKET, CYCLE = 8.0, 34.0  # more beside it, for the bracket of what repeats; where layers in it repeat as well
STREAM, NORM, NORM_HALF, PART = 24.0, 57.0, 20.0, 82.0  # in a frame: stream, norms' middle and half width, parts
PAD, TALL_NORM, SUM = 5.0, 13.0, 4.6  # inside boxes; the height of a norm; the radius of a sum
MOST_HEAD, HEADS_TALL = 10.0, 34.0  # the side of a head's square, and all rows of them

PAPER, INK, FAINT, LINES = colour("paper"), colour("ink"), colour("quiet"), COLOURS["tokens"][1]
FRAME = colour("tint"), colour("edge")


@dataclass(frozen=True)
class Diagram:
    """A drawing in SVG: a notebook shows it, `str` and `.svg` are its text. width, height: in points."""

    svg: str = field(repr=False)
    width: float
    height: float
    description: str

    def __str__(self) -> str:
        return self.svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the drawing to a file ending in .svg, and returns its path. Raises ValueError for another ending."""
        path = Path(path)
        if path.suffix.lower() != ".svg":
            raise ValueError(f"a diagram is written as SVG, and {path.name} does not end in .svg; "
                             f"save it as {path.with_suffix('.svg').name}")
        path.write_text(self.svg, "utf-8")
        return path


def architecture(config: ModelConfig, *, apart: int = 1, transparent: bool = False) -> Diagram:
    """The architecture of a model, from tokens below to what it predicts above, with the shape and the share of the
    parameters of every part. Vaswani et al. 2017, figure 1, of any configuration.

    Equal layers in a row are drawn once, with how many they are. apart: stacks of at most so many layers are drawn
    layer by layer. transparent: without a white ground. Raises ValueError for an apart below 1.

    >>> transformer.architecture(ckpt.config).svg[:4]
    '<svg'
    """
    if apart < 1:
        raise ValueError(f"apart is {apart}, and a stack has 1 layer or more; give 1 to draw equal layers once")
    whole = model_blocks(config)
    drawing = _Drawing(config, whole, apart)
    return drawing.finished(transparent)


def shape_text(shape: Shape) -> str:
    """A shape as it is written: "T × 256"."""
    return " × ".join(f"{size:,}" if isinstance(size, int) else size for size in shape)


def share_text(parameters: int, total: int) -> str:
    """A share of the parameters: "12%", "0.4%", "< 0.1%"; empty for none."""
    share = 100 * parameters / total if total else 0.0
    return "" if not parameters else "< 0.1%" if share < 0.095 else f"{share:.{0 if share >= 9.95 else 1}f}%"


class _Canvas:
    """Elements of SVG, those that lie below first. y runs upwards from the foot of the drawing, where the SVG has 0."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.shapes: list[str] = []
        self.top = 0.0

    def box(self, x: float, y: float, width: float, height: float, colours: tuple[str, str], *, title: str = "",
            round: float = 2.5, below: bool = False, thick: float = 0.8) -> None:
        """A rectangle by its lower left corner, which says its title where it is pointed at."""
        self.top = max(self.top, y + height)
        fill, line = colours
        said = f"<title>{escape(title)}</title>" if title else ""
        (self.lines if below else self.shapes).append(
            f'<rect x="{x:.2f}" y="{-y - height:.2f}" width="{width:.2f}" height="{height:.2f}" rx="{round:g}" '
            f'fill="{fill}" stroke="{line}" stroke-width="{thick:g}">{said}</rect>')

    def write(self, text: str, x: float, y: float, width: float, *, size: float = TEXT, bold: bool = False,
              anchor: str = "start", fill: str = INK) -> None:
        """A line of text on its base line, made to fit a width."""
        if not text:
            return
        text, size = fitted(text, width, size, least=LEAST, bold=bold)
        weight = ' font-weight="bold"' if bold else ""
        self.shapes.append(
            f'<text x="{x:.2f}" y="{-y:.2f}" font-size="{size:.2f}" text-anchor="{anchor}" fill="{fill}"{weight}>'
            f"{escape(text)}</text>")

    def line(self, points: Sequence[tuple[float, float]], *, colour: str = LINES, arrow: bool = False,
             thick: float = 1.0) -> None:
        """A line through points, with or without a head at its end."""
        self.top = max([self.top, *(y for _, y in points)])
        path = " ".join(f"{'L' if at else 'M'}{x:.2f} {-y:.2f}" for at, (x, y) in enumerate(points))
        self.lines.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{thick:g}" '
                          'stroke-linejoin="round"/>')
        if arrow:
            (x0, y0), (x1, y1) = points[-2:]
            long = max(abs(x1 - x0), abs(y1 - y0)) or 1
            dx, dy = (x1 - x0) / long, (y1 - y0) / long
            corners = ((x1, y1), (x1 - 4 * dx - 1.9 * dy, y1 - 4 * dy + 1.9 * dx),
                       (x1 - 4 * dx + 1.9 * dy, y1 - 4 * dy - 1.9 * dx))
            head = " ".join(f"{x:.2f},{-y:.2f}" for x, y in corners)
            self.lines.append(f'<polygon points="{head}" fill="{colour}"/>')

    def circle(self, x: float, y: float, title: str) -> None:
        """A sum."""
        self.shapes.append(f'<g stroke="{LINES}" stroke-width="0.9"><circle cx="{x:.2f}" cy="{-y:.2f}" r="{SUM}" '
                           f'fill="{PAPER}"><title>{escape(title)}</title></circle><path fill="none" '
                           f'pointer-events="none" d="M{x - 2.6:.2f} {-y:.2f}h5.2M{x:.2f} {-y - 2.6:.2f}v5.2"/></g>')


class _Drawing:
    """A model, drawn: its columns side by side, and the memory between them."""

    def __init__(self, config: ModelConfig, whole: Block, apart: int) -> None:
        self.config, self.whole, self.apart = config, whole, apart
        self.canvas = _Canvas()
        self.both = len(config.stacks) == 2
        self.width = TWO_STACKS if self.both else ONE_PARALLEL if config.parallel else ONE_STACK
        self.legend = self._legend()
        self.foot = EDGE + LINE * len(self.legend) + 5
        self.memory: tuple[float, float] | None = None  # where it leaves the encoder
        self.crossings: list[tuple[float, float]] = []  # where it enters a cross-attention

        cycles = {block.id: drawn_once(block.layers, apart=apart) for block in whole.blocks if block.type == "stack"}
        again = [cycle for stack in cycles.values() for cycle in stack if cycle.times > 1]
        margin = MARGIN + (CYCLE if any(map(_is_nested, again)) else BRACKET if again else 0)
        wide = (self.width - GAP * self.both - 2 * margin) / 2 if self.both else self.width - margin - EDGE - 2
        for at, stack in enumerate(config.stacks):
            left = margin + at * (wide + GAP)
            blocks = [block for block in whole.blocks if block.id.split(".")[0] == stack]
            _Column(self, blocks, cycles[stack], left, wide, margin, mirrored=bool(at)).draw()
        if self.memory:
            self._bridge(self.memory)

    def _legend(self) -> list[str]:
        config = self.config
        letters = "S: source tokens. T: tokens that the decoder reads." if self.both else "T: tokens."
        total = f"{amount(self.whole.parameters)} parameters; percentages are shares of them."
        heads = f"Squares: heads{', bracketed where they share keys and values' * (config.groups < config.n_heads)}."
        if config.residual_scale != 1:
            heads += f" What each part adds is multiplied by {config.residual_scale:g}."
        return wrapped(f"{letters} {total} {heads}", self.width - 2 * EDGE, LEAST)

    def _bridge(self, start: tuple[float, float]) -> None:
        """The memory, from the encoder's last block to every cross-attention that is drawn."""
        middle, colour = self.width / 2, COLOURS["cross"][1]
        for end in self.crossings:
            self.canvas.line((start, (middle, start[1]), (middle, end[1]), end), colour=colour, arrow=True, thick=1.4)

    def finished(self, transparent: bool) -> Diagram:
        """The drawing as it is handed out."""
        canvas = self.canvas
        for at, line in enumerate(self.legend):
            canvas.write(line, EDGE, EDGE + LINE * (len(self.legend) - 1 - at) + 1, self.width - 2 * EDGE, size=LEAST,
                         fill=FAINT)
        height = canvas.top + EDGE
        body = "\n".join([*canvas.lines, *canvas.shapes])
        ground = "" if transparent else (
            f'<rect y="{-height:.2f}" width="{self.width:g}" height="{height:.2f}" fill="{PAPER}"/>\n')
        description = self.whole.note
        svg = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}pt" height="{height:.2f}pt" '
               f'viewBox="0 {-height:.2f} {self.width:g} {height:.2f}" font-family="{FAMILY}" role="img">\n'
               f"<title>{escape(description)}</title>\n{ground}{body}\n</svg>\n")
        return Diagram(svg, self.width, height, description)


class _Column:
    """A stack with what is below and above it, drawn from the bottom up; `y` is how far it is."""

    def __init__(self, drawing: _Drawing, blocks: Sequence[Block], cycles: Sequence[Cycle], left: float, width: float,
                 margin: float, *, mirrored: bool) -> None:
        self.drawing, self.canvas, self.config = drawing, drawing.canvas, drawing.config
        self.blocks, self.cycles, self.left, self.width, self.margin = blocks, cycles, left, width, margin
        self.mirrored = mirrored
        self.total = drawing.whole.parameters
        self.y = drawing.foot
        self.stream_from = self.y

    def x(self, x: float, width: float = 0.0) -> float:
        """A place in the column, by its distance from the side on which the stream is."""
        return self.left + (self.width - x - width if self.mirrored else x)

    def up(self, to: float, *, arrow: bool = True) -> None:
        """The stream, up to a height."""
        self.canvas.line(((self.x(STREAM), self.stream_from), (self.x(STREAM), to)), arrow=arrow, thick=1.4)
        self.stream_from = to

    def draw(self) -> None:
        """The whole column."""
        at = next(place for place, block in enumerate(self.blocks) if block.type == "stack")
        aside = [block for block in self.blocks[:at] if block.id.endswith(".buckets")]
        for block in self.blocks[:at]:
            if block in aside:
                continue
            if block.type in ("positions", "segments"):
                self._added(block)
            else:
                self._wide(block)
        for block in aside:
            self._aside(block)
        self._stack(self.blocks[at])
        for block in self.blocks[at + 1:]:
            self._wide(block)

    # Below and above the stack

    def _wide(self, block: Block) -> None:
        """A part that all rows go through: as wide as the column."""
        inner, shape, share = self.width - 2 * PAD, shape_text(block.gives), self.share(block)
        second = _short(block.formula) if block.type not in ("norm", "tokens", "memory", "answer") else ""
        height = 15.0 if not second else 15.0 + LINE
        if block.type != "tokens":
            self.y += 9
            self.up(self.y)
        y, left = self.y, self.left
        self.canvas.box(left, y, self.width, height, block.colours, title=self.said(block),
                        round=7 if block.type in ("tokens", "answer") else 2.5)
        first = y + height - 10.4
        right = share if second else " · ".join(filter(None, (shape, share)))
        beside = text_width(right, TEXT) + 6
        self.canvas.write(_titled(block.name), left + PAD, first, inner - beside, size=NAME, bold=True)
        self.canvas.write(right, left + self.width - PAD, first, inner, anchor="end")
        if second:
            beside = text_width(shape, TEXT) + 6
            self.canvas.write(second, left + PAD, first - LINE, inner - beside, fill=FAINT)
            self.canvas.write(shape, left + self.width - PAD, first - LINE, inner, anchor="end")
        if block.type == "memory":
            self.drawing.memory = (left + self.width, y + height / 2)
        self.y += height
        self.stream_from = self.y

    def _added(self, block: Block) -> None:
        """Rows that are added to the stream, from a box beside it."""
        self.y += 6
        height, wide, name = 15.0, self.width - STREAM - 18, _titled(block.name.removeprefix("+ "))
        right = " · ".join(filter(None, (shape_text(block.gives), self.share(block))))
        left, beside = self.x(STREAM + 18, wide), text_width(right, TEXT) + 6
        if text_width(name, NAME, bold=True) + beside > wide - 2 * PAD:
            height, beside = height + LINE, 0
        middle = self.y + height / 2
        self.canvas.box(left, self.y, wide, height, block.colours, title=self.said(block))
        self.canvas.write(name, left + PAD, self.y + height - 10.4, wide - 2 * PAD - beside, size=NAME, bold=True)
        self.canvas.write(right, left + wide - PAD, self.y + 4.6, wide - 2 * PAD, anchor="end")
        self.canvas.line(((self.x(STREAM + 18), middle), (self.x(STREAM + SUM), middle)), arrow=True)
        self.canvas.circle(self.x(STREAM), middle, "the row before, plus this")
        self.y += height
        self.up(self.y, arrow=False)

    def _aside(self, block: Block) -> None:
        """What the layers' scores take in beside the rows: learned numbers of distances."""
        self.y += 8
        height, wide = 15.0 + LINE, self.width - STREAM - 18
        left = self.x(STREAM + 18, wide)
        self.canvas.box(left, self.y, wide, height, block.colours, title=self.said(block))
        right = " · ".join(filter(None, (shape_text(block.gives), self.share(block))))
        beside = text_width(right, TEXT) + 6
        self.canvas.write(_titled(block.name), left + PAD, self.y + height - 10.4, wide - 2 * PAD, size=NAME, bold=True)
        self.canvas.write("to every layer's scores", left + PAD, self.y + 4.6, wide - 2 * PAD - beside, fill=FAINT)
        self.canvas.write(right, left + wide - PAD, self.y + 4.6, wide - 2 * PAD, anchor="end")
        self.y += height
        middle = left + wide / 2
        self.canvas.line(((middle, self.y), (middle, self.y + 16)), arrow=True, colour=COLOURS["embedding"][1])
        self.up(self.y, arrow=False)

    # The stack

    def _stack(self, stack: Block) -> None:
        """The layers, each kind in a frame, and how many they are."""
        self.y += 16
        self.up(self.y, arrow=False)
        side = self.x(STREAM + 8, 80)
        self.canvas.write(shape_text(stack.takes), side + 80 * self.mirrored, self.y - 10, 80,
                          anchor="end" if self.mirrored else "start", fill=FAINT)
        shared = self.config.shared_layers and len(stack.layers) > 1
        for number, cycle in enumerate(self.cycles):
            bottom = self.y = self.y + 8 * (number > 0)
            for at, run in enumerate(cycle.runs):
                self.y += 8 * (at > 0)
                self._frame(stack.blocks[run.template], run, shared,
                            named=len(self.cycles) > 1 or len(cycle.runs) > 1)
            if cycle.times > 1:
                self._bracket(bottom, self.y, cycle.times, MARGIN if _is_nested(cycle) else 5)
        self.y += 15
        self.up(self.y, arrow=False)
        part = self.width - STREAM - 10
        left, share = self.x(STREAM + 10, part), share_text(stack.parameters, self.total)
        name = f"{stack.name}, {how_many(len(stack.layers), 'layer')}"
        self.canvas.write(name, left, self.y - 9, part - text_width(share, TEXT) - 8, size=NAME, bold=True)
        self.canvas.write(share, left + part, self.y - 9, part, anchor="end")
        self.y -= 4

    def _frame(self, layer: Block, run: Run, shared: bool, *, named: bool) -> None:
        """One kind of layer: its rows, and how many times it is there; named: which layers these are."""
        bottom, count = self.y, len(run.layers)
        self.y += 4
        blocks = {block.id.split(".", 2)[2]: block for block in layer.blocks}
        parts = [name for name in ("attention", "cross", "feed_forward") if name in blocks]
        each = "" if count == 1 or shared else f"{count} × "
        after = ", shared" if shared else ""
        for row in [parts] if self.config.parallel else [[part] for part in parts]:
            self._row(row, blocks, lambda block: f"{each}{share}{after}" if (share := self.share(block)) else "")
        part = self.width - PART - PAD
        self.y += 13 if named else 3
        if named:
            left, share = self.x(PART, part), share_text(layer.parameters, self.total)
            share = f"{each}{share}{after}"
            room, most = part - text_width(share, TEXT) - 6, len(run.layers)
            while most > 1 and text_width(layer_numbers(run.layers, most=most), TEXT) > room:
                most -= 1
            self.canvas.write(layer_numbers(run.layers, most=most), left, self.y - 9.6, room, fill=FAINT)
            self.canvas.write(share, left + part, self.y - 9.6, part, anchor="end", fill=FAINT)
        self.canvas.box(self.left, bottom, self.width, self.y - bottom, FRAME, round=5, below=True,
                        title=self.said(layer).replace("layer {layer}", layer_numbers(run.layers)))
        self.canvas.lines.insert(0, self.canvas.lines.pop())
        self.up(self.y, arrow=False)
        if run.together > 1:
            outer = self.x(-3)
            self.canvas.write(f"× {run.together}", outer, (bottom + self.y) / 2 - 4, MARGIN - EDGE, size=TIMES,
                              bold=True, anchor="start" if self.mirrored else "end")

    def _bracket(self, bottom: float, top: float, times: int, away: float) -> None:
        """What repeats as a whole, and how often; away: from the frames."""
        near, far = self.x(2 - away), self.x(-2 - away)
        self.canvas.line(((near, bottom), (far, bottom), (far, top), (near, top)), colour=FAINT)
        self.canvas.write(f"× {times}", self.x(-5 - away), (bottom + top) / 2 - 4, self.margin - away - 7, size=TIMES,
                          bold=True, anchor="start" if self.mirrored else "end")

    def _row(self, row: Sequence[str], blocks: dict[str, Block], share: Callable[[Block], str]) -> None:
        """A part with its norms and its sum, or two parts that read the same rows."""
        config, count, stream = self.config, len(row), STREAM
        wide = (self.width - PART - PAD - 8 * (count - 1)) / count
        contents = [self._content(blocks[name], wide, share(blocks[name])) for name in row]
        around = 10.0 if count > 1 else 0.0  # where the second part's wires go around the first
        inside = max(height for _, _, height in contents)
        out_norms = [f"{name}_out_norm" in blocks for name in row]
        least = (2 + any(out_norms) + (count > 1) * 2) * (TALL_NORM + 3)
        inside = max(inside, least - 2 * around, 34.0)
        bottom = self.y + 3 + around
        top = bottom + inside
        self.y = top + around + 3
        for at, name in enumerate(row):
            lane = (bottom + 9 if not around else bottom - around + 8 + (1 - at) * (TALL_NORM + 4))
            out = (top - 9 if not around else top + around - 8 - (1 - at) * (TALL_NORM + 4))
            part = blocks[name]
            near = PART + at * (wide + 8)
            norm = blocks.get(f"{name}_norm")
            is_post = config.norm_position == "post"
            if at and norm is None and config.parallel == "one":  # from behind the norm that both read
                start = [(NORM + NORM_HALF + 2, self.first_lane), (NORM + NORM_HALF + 2, lane)]
            else:
                start = [(stream, lane)]
            end = [(near + wide / 2, lane), (near + wide / 2, bottom)] if at else [(near, lane)]
            self.canvas.line([(self.x(x), y) for x, y in start + end], arrow=True)
            self.first_lane = lane
            back = [(near + wide / 2, top), (near + wide / 2, out)] if at else [(near, out)]
            self.canvas.line([(self.x(x), y) for x, y in [*back, (stream + SUM, out)]], arrow=True)
            if norm is not None and not is_post:
                self._norm(norm, NORM, lane)
            if out_norms[at]:
                self._norm(blocks[f"{name}_out_norm"], NORM, out)
            left = self.x(near, wide)
            self.canvas.box(left, bottom, wide, inside, part.colours, title=self.said(part))
            self._filled(part, contents[at], left, top, wide, share(part))
            self.canvas.circle(self.x(stream), out, blocks[f"{name}_sum"].formula)
            if part.kind == "cross":
                self.drawing.crossings.append((self.x(near + wide), (bottom + top) / 2))
            if norm is not None and is_post:
                self.y += TALL_NORM + 1
                self._norm(norm, stream, self.y - TALL_NORM / 2 - 1)

    def _norm(self, block: Block, middle: float, y: float) -> None:
        x = self.x(middle)
        self.canvas.box(x - NORM_HALF, y - TALL_NORM / 2, 2 * NORM_HALF, TALL_NORM, COLOURS["norm"],
                        title=self.said(block))
        self.canvas.write(block.name, x, y - 2.5, 2 * NORM_HALF - 2, size=TEXT, anchor="middle")

    def _content(self, block: Block, wide: float, share: str) -> tuple[list[str], str, float]:
        """The lines of a part, the one beside its share, and how high it is."""
        config, inner = self.config, wide - 2 * PAD
        if block.heads is None:
            lines = wrapped(f"{config.d_model:,} → {config.d_ff:,} → {config.d_model:,}, {config.activation}", inner,
                            LEAST)
            last, squares = shape_text(block.gives), 0.0
        else:
            lines = wrapped(block.note, inner, LEAST)
            keys = "S" if block.kind == "cross" else block.takes[0]
            last = f"weights {shape_text((block.heads.count, block.takes[0], keys))}"
            squares = _heads_place(block.heads, inner).height + 5
        if text_width(last, LEAST) + text_width(share, TEXT) + 5 > inner:
            lines, last = [*lines, last], ""
        return lines, last, 12.0 + squares + LINE * (len(lines) + 1) + 4

    def _filled(self, block: Block, content: tuple[list[str], str, float], left: float, top: float, wide: float,
                share: str) -> None:
        """The name, the heads and the lines of a part."""
        lines, last, _ = content
        self.canvas.write(_titled(block.name), left + PAD, top - 10.4, wide - 2 * PAD, size=NAME, bold=True)
        below = top
        if block.heads is not None:
            place = _heads_place(block.heads, wide - 2 * PAD)
            self._heads(block, place, left + PAD, top - 15)
            below = top - place.height - 5
        y = below - 10.4
        for line in lines:
            y -= LINE
            self.canvas.write(line, left + PAD, y, wide - 2 * PAD, size=TEXT)
        beside = text_width(share, TEXT) + 5 if share else 0
        self.canvas.write(last, left + PAD, y - LINE, wide - 2 * PAD - beside)
        self.canvas.write(share, left + wide - PAD, y - LINE, wide - 2 * PAD, anchor="end")

    def _heads(self, block: Block, place: "_Heads", left: float, top: float) -> None:
        """Every head as a square; under those that share keys and values, a bracket."""
        assert block.heads is not None
        colour, heads = block.colours[1], block.heads
        each = heads.count // heads.groups
        squares = [place.at(head) for head in range(heads.count)]
        path = "".join(f"M{left + x:.2f} {-(top - y):.2f}h{place.side:.2f}v{place.side:.2f}h{-place.side:.2f}z"
                       for x, y in squares)
        self.canvas.shapes.append(f'<path d="{path}" fill="{colour}" fill-opacity="0.3" stroke="{colour}" '
                                  f'stroke-width="0.5" data-heads="{heads.count}"/>')
        if each == 1:
            return
        brackets = ""
        for group in range(heads.groups):
            own = squares[group * each:(group + 1) * each]
            x0, x1 = min(x for x, _ in own), max(x for x, _ in own) + place.side
            y1 = max(y for _, y in own) + place.side + 1.2
            brackets += (f"M{left + x0:.2f} {-(top - y1):.2f}v1.8h{x1 - x0:.2f}v-1.8")
        self.canvas.shapes.append(f'<path d="{brackets}" fill="none" stroke="{colour}" stroke-width="0.9" '
                                  f'data-groups="{heads.groups}"/>')

    def share(self, block: Block) -> str:
        """A part's share of the parameters."""
        return share_text(block.parameters, self.total)

    def said(self, block: Block) -> str:
        """Everything known of a block, in a line."""
        shapes = " → ".join(shape_text(shape) or "1" for shape in (block.takes, block.gives) if shape)
        share = share_text(block.parameters, self.total)
        return " · ".join(filter(None, (
            block.name, shapes, block.formula, block.note,
            f"{how_many(block.parameters, 'parameter')} ({share})" if share else "")))


@dataclass(frozen=True)
class _Heads:
    """Where the heads of an attention stand: rows of groups, and groups of rows where one is longer than a row."""

    side: float
    step: float  # from square to square
    across: int  # of a group, heads in a row
    down: int  # of a group, rows
    groups: int  # in a row
    rows: int  # of groups
    each: int
    gap: float  # between groups

    @property
    def height(self) -> float:
        return self.rows * (self.down * self.step + self.below)

    @property
    def below(self) -> float:
        """The room of a bracket."""
        return 3.4 if self.each > 1 else 0.0

    def at(self, head: int) -> tuple[float, float]:
        """The upper left corner of a head's square, downwards from that of all."""
        group, place = divmod(head, self.each)
        row, column = divmod(group, self.groups)
        down, across = divmod(place, self.across)
        return (column * (self.across * self.step + self.gap) + across * self.step,
                row * (self.down * self.step + self.below) + down * self.step)


def _heads_place(heads: Heads, width: float) -> _Heads:
    """The largest squares with which all heads fit the width and a few rows."""
    each = heads.count // heads.groups
    gap = 2.5 if each > 1 else 0.0
    best: tuple[tuple[float, int], _Heads] | None = None
    for in_row in range(1, heads.groups + 1):
        for across in range(1, each + 1) if in_row == 1 else (each,):
            rows, down = ceil(heads.groups / in_row), ceil(each / across)
            below = 3.4 * (each > 1)
            step = min((width - gap * (in_row - 1)) / (in_row * across), (HEADS_TALL - rows * below) / (rows * down),
                       MOST_HEAD + 2)
            if step <= 0:
                continue
            one = _Heads(step - min(2.0, step / 5), step, across, down, in_row, rows, each, gap)
            full = in_row * rows == heads.groups and across * down == each  # rows of one length look better
            worth = (round(step * (1 if full else 0.8), 3), -rows * down)
            if best is None or worth > best[0]:
                best = worth, one
    assert best is not None
    return best[1]


def _is_nested(cycle: Cycle) -> bool:
    """Whether layers repeat in what repeats."""
    return any(run.together > 1 for run in cycle.runs)


def _titled(name: str) -> str:
    """A name as it stands in a box."""
    return name[:1].upper() + name[1:]


def _short(formula: str) -> str:
    """A formula as it stands in a box: a table by its size."""
    for long, short in (("row of the token in a table of ", ""), ("each row times a table of ", ""),
                        (", the table of the embeddings", ", tied"), (", the same table as the source's", ", tied")):
        formula = formula.replace(long, short)
    return formula
