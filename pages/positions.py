"""How a model knows the order of its tokens: sinusoidal, learned and rotary positions, and none."""

from dataclasses import dataclass
from math import pi

import numpy as np
import streamlit as st
import torch

from transformer.analysis.positions import along_diagonals, moved, rotary_products, similarity, without_positions
from transformer.checkpoint import Checkpoint
from transformer.config import KINDS
from transformer.inference.reading import attend
from transformer.inference.search import translate
from transformer.model.positions import rotary_angles, sinusoids
from ui import figures
from ui.checkpoint_choice import choose_checkpoint
from ui.head_choice import head_controls, head_in_range, origin
from ui.link import arrive_at, choice, leave_at, switch, text, whole, wholes
from ui.position_curves import show_positions
from ui.resources import chart
from ui.say import say_error
from ui.texts import SENTENCE, taken

PAGE, MOST, WIDEST, CURVES = "positions", 512, 512, 12
VIEWS = ["Sinusoidal", "Rotary", "Trained", "Left out"]
BASES = [10, 100, 1_000, 10_000, 100_000, 1_000_000]
LAYOUTS = ["interleaved", "halves"]
EXAMPLE = "My mother likes my father."
FIELDS = {
    "view": choice(VIEWS[0], VIEWS), "count": whole(100, 2, MOST), "d_model": whole(128, 2, WIDEST),
    "base": choice(10_000, BASES), "layout": choice("interleaved", LAYOUTS),
    "dims": wholes([4, 5, 20, 21, 60], WIDEST - 1, count=CURVES), "measure": choice("product", ["product", "cosine"]),
    "place": whole(50, 0, MOST - 1), "width": whole(32, 2, 256), "seed": whole(0, 0, 999_999), "same": switch(False),
    "side": choice("src", ["src", "tgt"]), "text": text(EXAMPLE),
    "kind": choice("encoder", KINDS), "layer": whole(1, 0, 1_000), "head": whole(0, 0, 1_000)}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
state = st.session_state


@dataclass(frozen=True)
class Shown:
    """A table of positions on the screen."""

    table: torch.Tensor  # (T, features)
    name: str
    value: str
    source: str
    column: str = "dimension"


def curves(shown: Shown, key: str) -> None:
    """Chosen dimensions of a table over the positions."""
    width = shown.table.shape[1]
    state[f"{PAGE}_dims"] = [dim for dim in state[f"{PAGE}_dims"] if dim < width]
    dims = st.multiselect(f"{shown.column.capitalize()}s to draw", range(width), key=f"{PAGE}_dims",
                          max_selections=CURVES)
    if not dims:
        st.info(f"Choose a {shown.column} to see its curve.")
        return
    show_positions(shown.table.numpy(), dims, column=shown.column, title=shown.name, value=shown.value,
                   source=shown.source, dark=dark, key=f"{PAGE}_{key}_curves")
    st.caption(figures.HOW_TO_ZOOM)


def matrix(values: torch.Tensor, key: str, *, across: str, down: str, value: str, title: str, source: str,
           angle: bool = False) -> None:
    values = values.numpy()
    st.plotly_chart(figures.number_heatmap(values, across=across, down=down, value=value, title=title, source=source,
                                           angle=angle, dark=dark), key=f"{PAGE}_{key}", config=figures.PLOTLY_CONFIG,
                    alt=figures.describe_numbers(values, across=across, down=down, value=value))


def similarities(shown: Shown) -> None:
    """Every position against every other, and one of them against all."""
    places = len(shown.table)
    state[f"{PAGE}_place"] = min(state[f"{PAGE}_place"], places - 1)
    left, right = st.columns(2)
    with left:
        measure = st.segmented_control("Similarity", ["product", "cosine"], key=f"{PAGE}_measure", required=True)
        found = similarity(shown.table, cosine=measure == "cosine")
        matrix(found, "similarity", across="position", down="position", value=measure,
               title="Similarity between positions", source=shown.source)
    with right:
        place = st.slider("Position", 0, places - 1, key=f"{PAGE}_place")
        series = {f"position {place}": found[place].tolist()}
        up = f"{measure} with position {place}"
        st.vega_lite_chart(chart(figures.lines, series, across="position", up=up, dark=dark, height=470,
                                 title=f"Position {place} and all others", source=shown.source),
                           key=f"{PAGE}_similarity_curve", alt=figures.describe_lines(series, across="position", up=up))


def show_sinusoids() -> None:
    first, second, third, fourth = st.columns(4)
    count = first.number_input("Positions", 2, MOST, step=1, key=f"{PAGE}_count")
    d_model = second.number_input("d_model", 2, WIDEST, step=2, key=f"{PAGE}_d_model")
    base = third.selectbox("Base", BASES, key=f"{PAGE}_base", format_func="{:,}".format,
                           help="10,000 in the paper. The longest wavelength is nearly 2π times this.")
    layout = fourth.selectbox("Layout", LAYOUTS, key=f"{PAGE}_layout",
                              help="interleaved: sin, cos, sin, cos, as in the paper. halves: all sines, then all "
                                   "cosines. The same numbers in another order, which a model does not mind.")
    table = sinusoids(count, d_model, layout=layout, base=base)
    shown = Shown(table, "Sinusoidal positions", "value added to the vector",
                  f"formula · {count} positions, d_model {d_model}, base {base:,}, {layout}")
    left, right = st.columns([3, 2], gap="large")
    with left:
        curves(shown, "sinusoids")
        for at, wave in (("2i", "sin"), ("2i+1", "cos")):
            st.latex(rf"PE_{{(pos,\,{at})}}=\{wave}\!\left(pos\,/\,base^{{2i/d_{{model}}}}\right)")
        st.caption("Each dimension is a wave. Low dimensions swing fast and tell neighbours apart; high ones hardly "
                   "move and tell near from far. The vector of a position is added to the embedding of the token there "
                   "(Vaswani et al. 2017, section 3.5).")
    with right:
        matrix(table, "matrix", across="dimension", down="position", value="value", title="The whole matrix",
               source=shown.source)
        waves = [2 * pi * base ** (2 * pair / d_model) for pair in range((d_model + 1) // 2)]
        series = {"wavelength": waves}
        st.vega_lite_chart(chart(figures.lines, series, across="pair of sine and cosine", up="positions", log=True,
                                 height=360, title="Wavelength, on a logarithmic scale", source=shown.source,
                                 rules={f"the {count} positions shown": count}, dark=dark),
                           key=f"{PAGE}_wavelengths",
                           alt=figures.describe_lines(series, across="pair of sine and cosine", up="wavelength"))
        st.caption(f"From 2π = {waves[0]:.2f} positions to {waves[-1]:,.0f}. Waves above the dashed line are longer "
                   "than all the positions shown.")
    similarities(shown)
    st.caption("The product of two positions is a sum of cosines of their distance. So it is the same all along a "
               "diagonal, and largest at distance 0.")


def show_rotary() -> None:
    first, second, third, fourth = st.columns(4)
    count = first.number_input("Positions", 2, MOST, step=1, key=f"{PAGE}_count")
    width = second.number_input("Width of a head", 2, 256, step=2, key=f"{PAGE}_width",
                                help="Rotary positions turn pairs of features, so it is even.")
    base = third.selectbox("Base", BASES, key=f"{PAGE}_base", format_func="{:,}".format)
    seed = fourth.number_input("Seed of q and k", 0, 999_999, step=1, key=f"{PAGE}_seed",
                               help="The query and the key are random; another seed draws others.")
    same = st.toggle("q = k", key=f"{PAGE}_same", help="The key is the query: the product is largest where they stand "
                     "at the same place, and decays with distance.")
    if width % 2:
        st.error(f"A head of {width} features has one without a partner; choose an even width.")
        return
    angles, products = rotary_angles(torch.arange(count), width, base=base), rotary_products(count, width, base=base,
                                                                                             seed=seed, same=same)
    source = f"formula · {count} positions, head of {width}, base {base:,}"
    source_of = f"{source} · seed {seed}{' · q = k' if same else ''}"
    left, right = st.columns(2, gap="large")
    with left:
        matrix(angles, "angles", across="pair of features", down="position", value="angle in radians", angle=True,
               title="How far each pair is turned", source=source)
        st.caption(f"Feature i and feature i + {width // 2} of every query and key are a point in the plane, turned by "
                   "position × rate; each pair has its own rate (Su et al. 2021, section 3.2.2). Nothing is added to "
                   "the embeddings. The colours go round with the angle; hover tells all of it.")
    with right:
        matrix(products, "products", across="key's position", down="query's position", value="q·k / √d",
               title="One query and one key, at all pairs of positions", source=source_of)
        st.caption(f"{'The same vector as q and as k' if same else 'The same q and the same k'}, turned to "
                   f"every position. Along each diagonal the product is the same "
                   f"(largest difference {along_diagonals(products):.1e}, which is rounding; all in all it goes from "
                   f"{products.min():.2f} to {products.max():.2f}): attention sees how far apart two tokens are, not "
                   "where they stand.")
    offsets = np.arange(-(count - 1), count)
    by_distance = {"q·k / √d": [float(products.diagonal(int(offset))[0]) for offset in offsets]}
    across = "distance: the key's position minus the query's"
    st.vega_lite_chart(chart(figures.lines, by_distance, across=across, up="q·k / √d", first=float(offsets[0]),
                             title="The same by distance", source=source_of, dark=dark),
                       key=f"{PAGE}_distance",
                       alt=figures.describe_lines(by_distance, across=across, up="q·k / √d"))


def show_checkpoint(ckpt: Checkpoint) -> None:
    config, positions = ckpt.config, ckpt.model.positions
    sides = [{"encoder": "src", "decoder": "tgt"}[stack] for stack in config.stacks]
    most = min(MOST, config.max_len)
    state[f"{PAGE}_count"] = min(state[f"{PAGE}_count"], most)
    if not ckpt.model.position_pictures(1, side=sides[0]):
        st.info(positions.describe(config))
        return
    if most < 2:
        st.info(f"{figures.markdown_text(ckpt.id)} reads one position, so there is nothing to compare.")
        return
    left, right = st.columns(2)
    count = left.number_input("Positions", 2, most, step=1, key=f"{PAGE}_count")
    if state[f"{PAGE}_side"] not in sides:
        state[f"{PAGE}_side"] = sides[0]
    side = sides[0]
    if positions.learned and len(sides) > 1:
        side = right.segmented_control("Added to", sides, key=f"{PAGE}_side", required=True,
                                       format_func={"src": "source embeddings", "tgt": "target embeddings"}.get)
    pictures = ckpt.model.position_pictures(count, side=side)
    st.markdown(f"This checkpoint's positions are **{positions.name}**. {positions.describe(config)}"
                + ("" if positions.learned else " Choose a checkpoint trained with `positions=learned` to see what a "
                                                "model finds by itself."))
    (first, *others), source = pictures, origin(ckpt)
    shown = Shown(first.values.float().cpu(), first.title, first.value, source, first.column)
    one, other = st.columns(2, gap="large")
    with one:
        matrix(shown.table, "table", across=first.column, down=first.row, value=first.value, title=first.title,
               source=source)
    with other:
        for second in others:
            matrix(second.values, "beside", across=second.column, down=second.row, value=second.value,
                   title=second.title, source=source, angle=second.angles)
        if not others:
            curves(shown, "checkpoint")
    if others:
        curves(shown, "checkpoint")
    if positions.compared:
        similarities(shown)


def show_left_out(ckpt: Checkpoint) -> None:
    config = ckpt.config
    translates, writes = config.task == "translation", config.task == "text"
    typed = taken(st.text_area("Text", key=f"{PAGE}_text", height=80, placeholder="Type a text and press Ctrl+Enter"),
                  SENTENCE)
    if not typed.strip():
        st.info("Type a text above and press Ctrl+Enter.")
        return
    if config.positions == "none":
        st.info(f"{figures.markdown_text(ckpt.id)} has no positions that could be left out.")
        return
    bare = without_positions(ckpt)
    try:
        target, other_target = (translate(which, [typed])[0] if translates else None for which in (ckpt, bare))
        with_them, without = (attend(which, typed, target) for which in (ckpt, bare))
    except ValueError as error:
        say_error(error)
        return
    kind, layer, head = head_in_range(PAGE, config)
    head_controls(PAGE, config)
    st.caption("The same weights, and the same text" + (", and the translation with positions given to both decoders"
                                                        if translates else "")
               + f". Without positions, {ckpt.model.positions.undone}.")
    read = [ckpt.tokenizer.piece(id) for id in (
        [config.start_id, *ckpt.tokenizer.encode(target or "")] if translates else ckpt.tokenizer.encode(typed))]
    source = [ckpt.source_tokenizer.piece(id) for id in
              [*ckpt.source_tokenizer.encode(typed), *([config.eos_id] if config.decoder_layers else [])]]
    axes = {"encoder": (source, source), "decoder": (read, read), "cross": (read, source)}[kind]
    mask = with_them.masks[kind].numpy()
    for place, reading, name, key in zip(st.columns(2), (with_them, without), ("with", "without"), ("trained", "bare"),
                                         strict=True):
        weights = reading.attentions[kind][layer, head].numpy()
        with place:
            st.plotly_chart(figures.attention_heatmap(
                weights, *axes, title=f"{kind.capitalize()}, {figures.head_label(layer, head)}, {name} positions",
                source=origin(ckpt), mask=mask, newest=False, dark=dark), key=f"{PAGE}_attention_{key}",
                config=figures.PLOTLY_CONFIG, alt=figures.describe_attention(weights, *axes, newest=False))
    shares = moved(with_them.attentions[kind], without.attentions[kind])
    st.markdown(f"**{float(shares[layer, head]):.1%}** of this head's attention goes elsewhere without positions.")
    st.html(figures.number_table(
        [f"head {at}" for at in range(config.n_heads)],
        [(f"layer {at}", [f"{float(share):.3f}" for share in row]) for at, row in enumerate(shares)],
        label="attention moved by leaving positions out", marked={(layer, head)}, caption=origin(ckpt)))
    st.caption(f"The share of each {kind} head's attention that moves: half the sum of the absolute differences of a "
               "row, averaged over rows. 0 is none of it, 1 is all.")
    if translates:
        one, other = st.columns(2)
        for place, name, said in ((one, "with", target), (other, "without", other_target)):
            place.markdown(f"**Translation {name} positions**")
            place.text(said or "(nothing)")
        st.caption("Without positions the encoder reads a bag of words. The decoder's causal mask still tells first "
                   "from later: each token has one more to look at than the one before.")
    elif writes:
        st.caption("The causal mask still tells first from later, so a decoder is not quite without order.")
    else:
        st.caption("An encoder without positions reads a bag of words: any order of these tokens gives the same "
                   "answer.")


st.title("Positions", anchor=False)
st.markdown("Attention by itself does not know the order of tokens: shuffle the keys, and every query gets the same "
            "answer. So models are told where each token stands.")
left, right = st.columns([3, 1], vertical_alignment="bottom")
view = left.segmented_control("Show", VIEWS, key=f"{PAGE}_view", required=True)
ckpt = None
if view in VIEWS[2:]:
    with right:
        ckpt = choose_checkpoint(PAGE, lambda about: view == VIEWS[2] or about.tokenizer is not None)
if view == "Sinusoidal":
    show_sinusoids()
elif view == "Rotary":
    show_rotary()
elif view == "Trained":
    show_checkpoint(ckpt)
else:
    show_left_out(ckpt)
leave_at(PAGE, FIELDS, checkpoint=ckpt.id if ckpt else state.get(f"{PAGE}_checkpoint"))
