"""Every mask of a small batch, what the softmax makes of it as numbers, and what leaks where it is switched off."""

import re
from math import isfinite, log

import numpy as np
import streamlit as st
import torch

from transformer.analysis.masks import DIGITS, LENGTH, Forced, batch_masks, masked_softmax, read_forced
from transformer.config import KINDS
from transformer.inference.decoding import check_length
from transformer.text.batches import PairBatches
from ui import figures
from ui.checkpoint_choice import choose_checkpoint
from ui.head_choice import head_controls, head_in_range, origin
from ui.languages import fit_pairs, sides_of
from ui.link import arrive_at, choice, leave_at, switch, text, whole, wholes
from ui.resources import chart, digit_runs
from ui.say import say_error
from ui.texts import SCORES, SENTENCE, taken

PAGE, ROWS, MOST_SCORES = "masks", 4, 16
PAIRS = [("I am cold.", "J'ai froid."), ("Go on.", "Continue."),
         ("Do you know where he lives?", "Sais-tu où il habite ?"), ("", "")]
SCALES = [1, 10, 100, 1_000, 3_000, 5_000, 10_000]
FIELDS = {
    **{f"{language}{row + 1}": text(PAIRS[row][side])
       for row in range(ROWS) for side, language in enumerate(("source", "target"))},
    "pair": whole(1, 1, ROWS), "kind": choice("decoder", KINDS),
    "layer": whole(0, 0, 1_000), "head": whole(0, 0, 1_000), "causal": switch(False), "padding": switch(True),
    "train": switch(False), "scores": choice("typed", ["typed", "from the model"]),
    "typed": text("2.0 1.0 0.5 5.0"), "blocked": wholes([2, 3], MOST_SCORES - 1, count=MOST_SCORES),
    "query": whole(1, 0, 10_000), "scale": choice(1, SCALES), "all": switch(False)}
NAMES = {"source": "source padding", "target": "target padding", "causal": "causal",
         "decoder": "target and causal", "cross": "cross"}
VARIANTS = {"both masks": (True, True), "no causal mask": (False, True), "no padding mask": (True, False),
            "neither": (False, False)}
FORMS = {"True / False": None, "−inf": float("-inf"), "−1e9": -1e9, "−1e4": -1e4}
DTYPES = {"float32": torch.float32, "float16": torch.float16}

dark = st.context.theme.type == "dark"
arrive_at(PAGE, FIELDS)
state = st.session_state

st.title("Masks", anchor=False)
about, picker = st.columns([3, 1], vertical_alignment="bottom")
about.markdown("A mask says which keys a query may look at. One keeps attention off the **padding** that makes the "
               "sentences of a batch equally long; the other, the **causal** mask, keeps a decoder from reading the "
               "word it is about to say (Vaswani et al. 2017, section 3.2.3).")
with picker:
    ckpt = choose_checkpoint(PAGE)
config, source, sides = ckpt.config, origin(ckpt), sides_of(ckpt.description)
fit_pairs(PAGE, ckpt, {f"{PAGE}_{side}{row + 1}": PAIRS[row][at]
                       for row in range(ROWS) for at, side in enumerate(("source", "target"))})

# the batch

st.subheader("A batch of your sentences", anchor=False)
sentences = []
for row in range(1, ROWS + 1):
    left, right = st.columns(2)
    called = [figures.markdown_text(side) + f" {row}" * (row > 1) for side in (sides.source, sides.target)]
    options = {"label_visibility": "visible" if row == 1 else "collapsed"}
    with left:
        typed = taken(st.text_input(called[0], key=f"{PAGE}_source{row}", placeholder=sides.sentence, **options),
                      SENTENCE)
    with right:
        translated = taken(st.text_input(called[1], key=f"{PAGE}_target{row}", placeholder=sides.translation,
                                         **options), SENTENCE)
    sentences.append((typed, translated))
try:
    read = [(ckpt.source_tokenizer.encode(one), ckpt.tokenizer.encode(other)) for one, other in sentences]
    pairs = [ids for ids in read if all(ids)]
    for ids in pairs:
        check_length(1 + max(map(len, ids)), config.max_len)
except ValueError as error:
    say_error(error)
    st.stop()
if not pairs:
    st.info(f"Type {figures.markdown_text(sides.typed)} and its translation above; two or more pairs of different "
            "lengths show what padding is for.")
    st.stop()
if any(any(ids) and not all(ids) for ids in read):
    st.caption("A pair with one side empty is left out.")
names = [one.strip() for (one, _), ids in zip(sentences, read, strict=True) if all(ids)]
batch = PairBatches(pairs, batch_tokens=1_000_000, pad_id=config.pad_id, start_id=config.start_id,
                    eos_id=config.eos_id, seed=0).make(pairs)
words = {"src": [[ckpt.source_tokenizer.piece(id) for id in row] for row in batch.src.tolist()],
         "tgt": [[ckpt.tokenizer.piece(id) for id in row] for row in batch.tgt.tolist()]}
numbers = [str(at + 1) for at in range(len(pairs))]
for place, side, label, what in zip(st.columns(2), ("src", "tgt"), ("the source batch", "the target batch"), (
        "What the encoder reads: {} × {} tokens. Striped: padding",
        "What the decoder reads: {} × {} tokens, from the start token on"), strict=True):
    lengths = [1 + len(ids[side == "tgt"]) for ids in pairs]
    place.html(figures.batch_table(numbers, words[side], lengths, label=label,
                                   caption=what.format(len(pairs), len(words[side][0]))))

# the five masks

st.subheader("The five masks", anchor=False)
state[f"{PAGE}_pair"] = min(state[f"{PAGE}_pair"], len(pairs))
pair = st.segmented_control("Pair", range(1, len(pairs) + 1), key=f"{PAGE}_pair", required=True) - 1
masks = {name: mask.numpy() for name, mask in batch_masks(batch.src, batch.tgt, config)._asdict().items()}
axes = {"source": ("src", "src"), "target": ("tgt", "tgt"), "causal": ("tgt", "tgt"), "decoder": ("tgt", "tgt"),
        "cross": ("tgt", "src")}
meaning = {
    "source": "Encoder. All tokens look at all tokens that are not padding. Rows of padding are computed too, and "
              "nobody looks at the result.",
    "target": "The target's tokens look at all target tokens that are not padding.",
    "causal": "A token sees itself and those before it: the ones after it are what it has to say.",
    "decoder": "Both at once, cell by cell: what the decoder's self-attention works under. Padding is on the right, so "
               "for real tokens the causal mask hides it already.",
    "cross": "The decoder's tokens look at the source tokens that are not padding."}
places = [*st.columns(3), *st.columns(3)]
for name, place in zip(("target", "causal", "decoder", "source", "cross"), places, strict=False):
    queries, keys = (words[side][pair] for side in axes[name])
    with place:
        st.plotly_chart(figures.mask_matrix(masks[name][pair], queries, keys, title=NAMES[name].capitalize(),
                                            source=source, dark=dark), key=f"{PAGE}_{name}_mask",
                        config=figures.PLOTLY_CONFIG, alt=figures.describe_mask(masks[name][pair], queries, keys))
        st.caption(meaning[name])
with places[-1]:
    small = {NAMES[name]: mask for name, mask in masks.items()}
    st.plotly_chart(figures.mask_grid(small, names, selected=pair, title="The whole batch", source=source, dark=dark),
                    key=f"{PAGE}_batch", config=figures.PLOTLY_CONFIG,
                    alt=figures.describe_mask_grid(small, names, selected=pair))
    st.caption("Every pair (down) under every mask (across). The causal mask is the same for all; the others depend on "
               "how long a sentence is.")

# switched off

st.subheader("Switch a mask off", anchor=False)
kind, layer, head = head_in_range(PAGE, config)
head_controls(PAGE, config)
with st.container(horizontal=True, gap="medium"):
    causal = st.toggle("Causal mask", key=f"{PAGE}_causal")
    padding = st.toggle("Padding mask", key=f"{PAGE}_padding")
readings = {name: read_forced(ckpt.model, batch.src, batch.tgt, batch.labels, causal=with_causal, padding=with_padding)
            for name, (with_causal, with_padding) in VARIANTS.items()}
changed = next(name for name, masked in VARIANTS.items() if masked == (causal, padding))
queries, keys = (words[side][pair] for side in {"encoder": ("src", "src"), **axes}[kind])
mask_of = {"encoder": "source", "decoder": "decoder", "cross": "cross"}[kind]


def show_reading(name: str, reading: Forced, key: str) -> None:
    allowed = batch_masks(batch.src, batch.tgt, config, causal=VARIANTS[name][0], padding=VARIANTS[name][1])
    mask, weights = getattr(allowed, mask_of)[pair].numpy(), reading.attentions[kind][layer, pair, head].numpy()
    st.plotly_chart(figures.attention_heatmap(
        weights, queries, keys, title=f"{kind.capitalize()}, {figures.head_label(layer, head)}: {name}", newest=False,
        source=source, mask=mask, dark=dark), key=f"{PAGE}_{key}", config=figures.PLOTLY_CONFIG,
        alt=figures.describe_attention(weights, queries, keys, newest=False))


left, right = st.columns(2)
with left:
    show_reading("both masks", readings["both masks"], "trained")
with right:
    show_reading(changed, readings[changed], "changed")
real = [1 + len(ids) for ids in pairs[pair]]  # source and target tokens of this pair
seen = readings[changed].attentions[kind][layer, pair, head].numpy()
if kind == "decoder":
    ahead = np.triu(seen[:real[1], :real[1]], 1).sum() / real[1]
    st.markdown(f"**{ahead:.1%}** of this head's attention goes to tokens that had not been written yet."
                + ("" if causal else " That is the leak."))
else:
    rows = real[kind == "cross"]
    st.markdown(f"**{seen[:rows, real[0]:].sum() / rows:.1%}** of this head's attention goes to padding.")

st.markdown("**What it costs**, in nats a token: −log of the probability of the token that comes next, the translation "
            "above given to the decoder token by token")
rows = [(number, [f"{float(readings[variant].nats[at].nanmean()):.4f}" for variant in VARIANTS])
        for at, number in enumerate(numbers)]
rows.append(("all tokens", [f"{readings[variant].loss:.4f}" for variant in VARIANTS]))
st.html(figures.number_table(list(VARIANTS), rows, label="loss with and without masks", corner="pair", totals=1,
                             caption=source, marked={(len(rows) - 1, list(VARIANTS).index(changed))}))
with st.expander("Token by token"):
    said = [figures.plain_label(ckpt.tokenizer.piece(id)) for id in batch.labels[pair, :real[1]].tolist()]
    st.html(figures.number_table(
        said, [(name, [f"{float(nats):.3f}" for nats in reading.nats[pair, :real[1]]])
               for name, reading in readings.items()], label="loss of each token", corner="nats for",
        caption=f"Pair {pair + 1} · {source}"))
with_it, without = readings["both masks"].loss, readings["no causal mask"].loss
st.caption("These are this model's own numbers: it was **trained with both masks**. Without the causal mask it reads "
           "the answer among its keys, " + ("and its loss is lower." if without < with_it else
           "yet its loss is higher: it has never learned to use it, and what it attends to is not what its layers "
           "expect.") + " What training without the mask does is another experiment, below. Without the padding mask "
           "the encoder and the cross-attention of shorter sentences look at padding; on the target side it changes "
           "nothing as long as the causal mask is on.")

st.markdown("**Training without the causal mask**")
if st.toggle("Train two tiny decoders on random digits, one with the causal mask and one without (a second or two)",
             key=f"{PAGE}_train"):
    honest, cheat = digit_runs()
    left, right = st.columns(2)
    curves = {"with the causal mask": honest.losses, "without it": cheat.losses}
    with left:
        st.vega_lite_chart(chart(
            figures.lines, curves, across="training step", up="nats a digit", first=1,
            title="Loss on digits never seen before",
            source="one layer, one head, d_model 32, 12 random digits a row", zero=True, dark=dark,
            rules={f"log 10 = {log(DIGITS):.3f}: guessing": log(DIGITS),
                   f"log 10 / 12 = {log(DIGITS) / LENGTH:.3f}: all copied but the last": log(DIGITS) / LENGTH}),
            key=f"{PAGE}_learned", alt=figures.describe_lines(curves, across="training step", up="nats a digit"))
    with right:
        st.plotly_chart(figures.attention_heatmap(
            cheat.weights.numpy(), cheat.digits, cheat.digits, title="Trained without: each token looks at the next",
            newest=False, source="on a row it was not trained on", dark=dark), key=f"{PAGE}_cheat",
            config=figures.PLOTLY_CONFIG,
            alt=figures.describe_attention(cheat.weights.numpy(), cheat.digits, cheat.digits, newest=False))
    honest_end, cheat_end = (np.mean(run.losses[-20:]) for run in (honest, cheat))
    st.caption(f"Random digits cannot be predicted: no honest loss stays under log 10 = {log(DIGITS):.3f} nats, and "
               f"with the mask the last twenty steps average {honest_end:.3f}. Without it they average "
               f"{cheat_end:.3f}: the head copies the next digit, and only the last one of a row, which is never read, "
               "is left to guess. When such a model writes, there is no next digit to copy.")

# as numbers

st.subheader("From true and false to numbers", anchor=False)
st.markdown("The models here keep masks as true and false. Many others write them as numbers to add to the scores "
            "before the softmax: 0 where attending is allowed, −inf or a large negative number where not. These are "
            "not always the same.")
with st.container(horizontal=True, gap="medium"):
    where = st.segmented_control("Scores", ["typed", "from the model"], key=f"{PAGE}_scores", required=True)
    scale = st.select_slider("Scores times", SCALES, key=f"{PAGE}_scale", format_func="{:,}".format)
    everything = st.toggle("Mask every key", key=f"{PAGE}_all")
if where == "typed":
    line, chosen = st.columns(2)
    with line:
        typed = taken(st.text_input("Scores of one query, q·k / √d", key=f"{PAGE}_typed"), SCORES)
    parts = re.split(r"[\s,;]+", typed.strip())
    if parts == [""]:
        st.info("Type some numbers, with spaces between them.")
        leave_at(PAGE, FIELDS, checkpoint=ckpt.id)
        st.stop()
    try:
        given = [float(part) for part in parts]
        if len(given) > MOST_SCORES or not all(isfinite(score) and abs(score) <= 1e6 for score in given):
            raise ValueError
    except ValueError:
        st.error(f"The scores should be up to {MOST_SCORES} numbers from −1,000,000 to 1,000,000 with spaces between "
                 "them, such as `2.0 1.0 0.5 5.0`.")
        leave_at(PAGE, FIELDS, checkpoint=ckpt.id)
        st.stop()
    scores, labels = torch.tensor(given), [f"key {at}" for at in range(len(given))]
    state[f"{PAGE}_blocked"] = [at for at in state[f"{PAGE}_blocked"] if at < len(given)]
    masked = chosen.multiselect("Masked keys", range(len(given)), key=f"{PAGE}_blocked", disabled=everything)
    allowed = torch.tensor([at not in masked for at in range(len(given))])
else:
    state[f"{PAGE}_query"] = min(state[f"{PAGE}_query"], len(queries) - 1)
    at = st.select_slider("Query", range(len(queries)), key=f"{PAGE}_query",
                          format_func=lambda at: f"{at} · {figures.plain_label(queries[at])}")
    scores = readings["both masks"].products[kind][layer, pair, head, at]
    allowed = torch.from_numpy(masks[mask_of][pair, at].copy())
    labels = [f"{position} · {figures.plain_label(piece)}" for position, piece in enumerate(keys)]
    st.caption(f"{kind.capitalize()}, {figures.head_label(layer, head)}, pair {pair + 1} · "
               f"{figures.markdown_text(source)}")
scores, allowed = scores * scale, allowed & (not everything)
weights = {(form, dtype): masked_softmax(scores, allowed, blocked=blocked, dtype=DTYPES[dtype]).numpy()
           for form, blocked in FORMS.items() for dtype in DTYPES}
added = ["" if blocked is None else f"{torch.tensor(blocked).to(DTYPES[dtype]).item():g}"
         for blocked in FORMS.values() for dtype in DTYPES]
hidden = ~allowed.numpy()
rows = [("added to a masked score", ["", "", *added])]
rows += [(label, [str(scores[at].numpy()), "no" if hidden[at] else "yes", *(str(w[at]) for w in weights.values())])
         for at, label in enumerate(labels)]
rows += [("sum", ["", "", *(str(w.astype(np.float64).sum().round(6)) for w in weights.values())]),
         ("on masked keys", ["", "", *(str(w[hidden].astype(np.float64).sum().round(6)) for w in weights.values())])]
wrong = {(at + 1, column + 2) for column, w in enumerate(weights.values()) for at in range(len(labels))
         if np.isnan(w[at]) or (hidden[at] and w[at] > 0)}
st.html(figures.number_table(
    ["score", "may look", *(dtype for _ in FORMS for dtype in DTYPES)], rows, label="the softmax of each form of mask",
    corner="key", groups=[("", 2), *((form, 2) for form in FORMS)], totals=2, marked=wrong,
    caption="What the softmax makes of the mask, computed now; outlined: no number, or attention to a masked key"))
broken = [f"{form} in {dtype}" for (form, dtype), w in weights.items() if np.isnan(w).any()]
leaks = [f"{form} in {dtype} {w[hidden].astype(np.float64).sum():.1%}" for (form, dtype), w in weights.items()
         if w[hidden].sum() > 0]
if broken:
    st.markdown(f"**Not a number**: {', '.join(map(figures.markdown_text, broken))}. " + (
        "Every score is −inf, and the softmax divides 0 by 0." if everything or hidden.all() else
        "A score above 65,504 is more than float16 holds and becomes inf."))
if leaks:
    st.markdown(f"**Attention to masked keys**: {', '.join(map(figures.markdown_text, leaks))}." + (
        " Where every key is masked, every score gets the same number added, so the softmax is what it is without a "
        "mask but for rounding; a number so large that rounding swallows the scores leaves a uniform row."
        if hidden.all() else
        " The masked scores are lower by a finite number only, and these scores are further apart than that."))
if not broken and not leaks and hidden.any():
    st.markdown("Here every form gives masked keys exactly 0. Mask every key, or multiply the scores, until they "
                "differ.")
st.caption("float16 holds nothing beyond ±65,504: −1e9 becomes −inf when it is cast, and PyTorch refuses to fill a "
           "float16 tensor with it. True / False is `attend`, the function that the models here use, on PyTorch's fast "
           "path: a query with every key masked gets zeros there, and this library refuses to build such a mask.")
leave_at(PAGE, FIELDS, checkpoint=ckpt.id)
