"""The list of all checkpoints, and the card, settings, parameters and training curve of the chosen one."""

import io
import re
import threading
import zipfile
from datetime import date
from functools import partial
from itertools import groupby
from math import prod
from pathlib import Path

import orjson
import streamlit as st

from transformer.analysis.tensors import parameters_by_block, stored_tensors
from transformer.basics.folders import size_of, written_ns
from transformer.basics.formatting import duration, how_many, size
from transformer.basics.paths import ROOT, home
from transformer.checkpoints.checkpoint import CheckpointError, Description, open_tokenizers
from transformer.huggingface.published_models import PUBLISHED
from transformer.model.norms import NORMS
from transformer.publishing.page import page as published_page
from transformer.publishing.tokenizers import RUN, of_another_kind
from transformer.publishing.weights import reasons_against
from transformer.settings.config import ModelConfig
from transformer.settings.task import TASKS, does
from transformer.text.corpus_catalogue import published_loss
from ui import figures
from ui.access.owners import without_home
from ui.choices.head import origin_of
from ui.choices.held_out_corpus import corpus_name
from ui.components.run_curves import show_curves
from ui.page.link import Field, choice, quiet, whole
from ui.page.pages import PAGES
from ui.page.plain_text import without_images
from ui.page.presentation import chart_size, columns, enlarged, settings
from ui.state.caches import Entry, chart, entries, steps_of
from ui.state.page_state import PageState
from ui.views.checkpoints.tokenizer import kind_of

VIEWS = {"card": "Card", "tokenizer": "Tokenizer", "weights": "Weights", "test": "Try it", "compare": "Compare",
         "add": "Add one"}
LONGEST_CARD = 200_000  # characters
LARGEST_ZIP = 200_000_000  # bytes of weights
PACKING = threading.Lock()  # held while a page is made


class CheckpointsState(PageState):
    """What the views share: the one that is shown, and the head."""

    view = choice("card", list(VIEWS))
    kind: Field[str | None] = quiet(Field(None))
    layer = quiet(whole(0, 0, 1_000))
    head = quiet(whole(0, 0, 1_000))


def shape(config: ModelConfig) -> str:
    """The size of a model, as in the list of runs."""
    layers = "+".join(map(str, config.stacks.values()))
    return f"{layers} × {config.d_model}, {how_many(config.n_heads, 'head')}"


def show_list(chosen: str) -> None:
    """All checkpoints, the chosen one marked, and those that cannot be opened, with their errors."""
    result = entries()
    rows = [_line(entry, chosen) for entry in result if isinstance(entry, Entry)]
    st.html(figures.plain_table(["checkpoint", "task", "size", "parameters", "step", "quality", "date", "device",
                                 "from"], rows, label="Checkpoints", numbers={3, 4}))
    for entry in result:
        if entry.error:
            st.caption(figures.markdown_text(f"Not opened, {entry.folder.name}: {entry.error}"))


def _line(entry: Entry, chosen: str) -> list[str]:
    about = entry.about
    count, step = about.meta.get("parameters"), about.step
    mark = "●\u00a0" if about.id == chosen else ""
    return [mark + about.id, does(about.config), shape(about.config), f"{count:,}" if isinstance(count, int) else "",
            f"{step:,}" if isinstance(step, int) else "", about.quality, when(about),
            str(about.meta.get("device") or "")[:20], whence(entry.folder)]


def when(about: Description) -> str:
    """The day it was saved; if it is not recorded, the day of its file."""
    saved = about.meta.get("saved")
    if isinstance(saved, str):
        return saved[:10]
    written = written_ns(about.folder / "model.safetensors")
    return "" if written is None else f"{date.fromtimestamp(written / 1e9).isoformat()} (file)"


def whence(folder: Path) -> str:
    """The origin of a checkpoint on this server."""
    places = {ROOT / "checkpoints": "included", home() / "checkpoints": "kept of a run",
              home() / "uploads": "uploaded", home() / "imports": "imported"}
    return places.get(folder.parent, "a training step")


def show_card(page: str, entry: Entry, *, dark: bool) -> None:
    """The contents of a checkpoint's folder."""
    about = entry.about
    with st.container(horizontal=True, vertical_alignment="center", key=f"{page}_open_settings"):
        st.markdown("## Open it in", width="content")
        for other in PAGES.values():
            if other.name != page and other.shows(about.config):
                st.page_link(other.script, label=other.title, query_params=other.address(about.id),
                             icon=":material/arrow_forward:")
        weights = (about.folder / "model.safetensors").stat().st_size
        if weights > LARGEST_ZIP:
            st.caption(f"Too large to download here ({size(weights)}): copy the folder "
                       f"{figures.markdown_text(about.folder.name)}.", width="content")
        else:
            st.download_button("Download as zip", partial(_zipped, about.folder), f"{about.name}.zip",
                               "application/zip", key=f"{page}_zip", icon=":material/download:", on_click="ignore",
                               help="The whole folder. *Add one* opens it on another machine.")
        reasons = _reasons_against(about)
        st.download_button("Download as a page that runs it", partial(_page, about.folder), f"{about.name}.html",
                           "text/html", key=f"{page}_page", icon=":material/html:", on_click="ignore",
                           disabled=bool(reasons),
                           help=f"It does not run in a browser: {'; '.join(reasons)}." if reasons else
                           "One HTML file in which this model runs: it needs no server and no network, and can be put "
                           "on any web host or sent by mail.")
    if steps := steps_of(entry):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{page}_steps_settings"):
            st.markdown("## Earlier steps", width="content")
            for one in steps:
                st.page_link(PAGES[page].script, label=f"{one.about.step or 0:,}",
                             query_params={"checkpoint": one.about.id})
            if about.folder.parent == home() / "imports":
                link_to_forming(f"imports/{about.folder.name}")
    left, right = columns(page, 2, gap="large")
    with left:
        _show_facts(about)
        _show_parameters(page, about, dark=dark)
    with right:
        _show_curve(page, about, dark=dark)
    with settings(page, "whole"):
        with st.expander("The model card", key=f"{page}_readme"):
            _show_readme(about.folder)
        with st.expander("Every setting", key=f"{page}_config"):
            train = about.train and about.train.model_dump(mode="json") | {"corpus": without_home(about.train.corpus)}
            st.json({"model": about.config.model_dump(mode="json"), "tokenizer": about.tokenizer, "train": train},
                    expanded=True)
        with st.expander("Metadata of the weights file", key=f"{page}_meta"):
            st.json(about.meta, expanded=True)


def _reasons_against(about: Description) -> list[str]:
    """Why a checkpoint does not run in a browser; empty if it does."""
    size = sum(prod(one.shape) * (2 if one.dtype == "F16" else 4) for one in stored_tensors(about))
    kind = about.tokenizer["kind"]
    if kind not in RUN:  # some of the others are large, and slow to open
        return [*reasons_against(about.config, size=size), of_another_kind(kind)]
    try:
        return reasons_against(about.config, *dict.fromkeys(open_tokenizers(about)), size=size)
    except CheckpointError as error:
        return [str(error)]


def _page(folder: Path) -> str:
    """The checkpoint as a page; one at a time, as each takes several times the memory of its weights."""
    with PACKING:
        return published_page(folder)


def _zipped(folder: Path) -> bytes:
    """A zip of all files in the manifest, under the folder's name; weights are stored uncompressed, as they would
    hardly shrink."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name in ["manifest.json", *orjson.loads((folder / "manifest.json").read_bytes())]:
            file.write(folder / name, f"{folder.name}/{name}")
    return buffer.getvalue()


def _show_facts(about: Description) -> None:
    config, meta = about.config, about.meta
    seconds = meta.get("seconds")
    facts = {
        "task": does(config), "trained on": (about.train and corpus_name(about.train.corpus)) or meta.get("corpus"),
        "imported from": meta.get("imported_from"), "model": published_as(about), "weights stored as": _stored(about),
        "licence": meta.get("license"),
        "quality": about.quality, "step": about.step, "trained for": isinstance(seconds, int | float) and
        duration(seconds), "device": meta.get("device"), "date": when(about),
        "attention": ", ".join(config.kinds),
        "layers": " + ".join(f"{count} {stack}" for stack, count in (
            ("encoder", config.encoder_layers), ("decoder", config.decoder_layers)) if count),
        "heads": f"{config.n_heads} of width {config.width}",
        "key-value heads": f"{config.groups}, each for {config.n_heads // config.groups} heads"
        if config.groups < config.n_heads else None,
        "d_model": config.d_model, "d_ff": config.d_ff,
        "feed-forward": "none: attention alone" if not config.d_ff else "gated" if config.gated else None,
        "norm": f"{config.norm_position}, {NORMS[config.norm_kind].title}",
        "positions": f"{config.positions}, at most {config.max_len:,}",
        "activation": config.activation, "vocabulary": f"{config.vocab_size:,} pieces"
        + (f", {config.src_vocab_size:,} read" if config.src_vocab_size else ""),
        "tokenizer": kind_of(about.tokenizer["kind"]) if about.reads_text else "none: ids"}
    rows = [[name, f"{value:,}" if isinstance(value, int) else str(value)] for name, value in facts.items() if value]
    st.html(figures.plain_table([about.id, ""], rows, label="Facts", wrap=True))


def published_as(about: Description) -> str | None:
    """The original name of a published model."""
    one, stored = PUBLISHED.get(str(about.meta.get("imported_from"))), str(about.meta.get("quantisation"))
    return one.title if one and f".{stored}." in one.file else None


def _stored(about: Description) -> str | None:
    """The type of the weights in the original file, if it was another."""
    before = about.meta.get("quantisation")
    return f"{before} in its file, {about.meta.get('precision') or 'float32'} here" if before else None


def _show_parameters(page: str, about: Description, *, dark: bool) -> None:
    counts = parameters_by_block(stored_tensors(about))
    total = sum(counts.values())
    parts, texts = _parts(counts, total)
    bars = chart(figures.amount_bars, parts, texts=texts, title=f"{total:,} parameters", source=origin_of(about),
                 dark=dark)
    st.vega_lite_chart(enlarged(page, bars), key=f"{page}_parameters", **chart_size(page),
                       alt=figures.describe_amounts(parts, texts=texts, what="Parameters"))
    with settings(page, "blocks"), st.expander("By block", key=f"{page}_blocks"):
        rows = [[stack, "" if layer is None else str(layer), what, f"{count:,}", f"{count / total:.2%}"]
                for (stack, layer, what), count in counts.items()]
        st.html(figures.plain_table(["part", "layer", "block", "parameters", "share"], rows,
                                    label="Parameters by block", numbers={1, 3, 4}))
        st.caption("A matrix used in several places is stored and counted once.")


def _parts(counts: dict[tuple[str, int | None, str], int], total: int) -> tuple[dict[str, int], dict[str, str]]:
    """The parts of a model by name, and their texts; equal consecutive layers are one part."""
    result: dict[tuple[str, int | None], int] = {}
    for (stack, layer, what), count in counts.items():
        key = (stack, layer) if layer is not None else (f"{stack} norm" if "norm" in what else stack, None)
        result[key] = result.get(key, 0) + count
    parts, texts = {}, {}
    for (stack, count, inside), group in groupby(result.items(),
                                                 lambda one: (one[0][0], one[1], one[0][1] is not None)):
        layers = [layer for (_, layer), _ in group]
        many = len(layers) > 1
        name = (stack if not inside else f"{stack} layers {layers[0]} to {layers[-1]}" if many else
                f"{stack} layer {layers[0]}")
        parts[name] = count * len(layers)
        texts[name] = f"{f'{len(layers)} × ' * many}{count:,} ({parts[name] / total:.1%})"
    return parts, texts


def _show_curve(page: str, about: Description, *, dark: bool) -> None:
    st.header("Training curve", anchor=False)
    metrics = about.folder / "metrics.jsonl"
    if not metrics.is_file() or not size_of(metrics):
        st.info("No training curve came with this checkpoint.")
        return
    unit = f"nats per {TASKS[about.config.task].unit}"
    show_curves(f"{page}_{about.id}", [about.folder], dark=dark, unit=unit,
                reference=published_loss(about.train.corpus) if about.train else None)
    if (about.folder / "attention").is_dir():
        run = f"checkpoints/{about.folder.name}" if about.folder.parent == ROOT / "checkpoints" else None
        if run:
            link_to_forming(run)


def link_to_forming(run: str) -> None:
    """A link to the heads of a run or a checkpoint over its training, on Train."""
    st.page_link(PAGES["train"].script, label="Attention as it formed", icon=":material/timeline:",
                 query_params={"view": "watch", "run": run})


def _show_readme(folder: Path) -> None:
    """A card from elsewhere, without images, which would be fetched from anywhere."""
    try:
        text = (folder / "README.md").read_text("utf-8", errors="replace")[:LONGEST_CARD]
    except OSError:
        st.info("No model card came with this checkpoint.")
        return
    if folder.parent in (ROOT / "checkpoints", home() / "checkpoints"):  # our own; the curve is drawn above
        text = re.sub(r"```mermaid.*?```", "", text, flags=re.DOTALL).replace("[Heads Up](../../README.md)", "Heads Up")
        st.markdown(without_images(text))
    else:
        st.code(text, language=None, wrap_lines=True)
