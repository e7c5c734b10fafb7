"""The model card of an imported checkpoint: its origin, its architecture, and what was not imported."""

import re
from collections.abc import Mapping
from typing import Any

from transformer.huggingface.folder import NEUTRAL
from transformer.settings.config import ModelConfig
from transformer.settings.task import TASKS

HEADS = {"masked": "It predicts the pieces that are masked.",
         "none": "It has no head: only its attention can be shown."}


def not_used(config: Mapping[str, object]) -> list[str]:
    """Settings of decoding in a configuration that Heads Up does not have, with their numbers."""
    unused = {key: config.get(key) for key, neutral in NEUTRAL.items() if config.get(key) not in (None, neutral)}
    return [f"{key} {value}" if isinstance(value, int | float) else key for key, value in unused.items()]


def import_card(name: str, config: ModelConfig, about: Mapping[str, Any], *, parameters: int) -> str:
    """Markdown for README.md."""
    layers = " and ".join(f"{count} {stack} layers" for stack, count in config.stacks.items())
    sentences = [f"{TASKS[config.task].model}.", HEADS.get(config.head or "", "")]
    if config.n_classes:
        sentences = [f"An encoder that tells {config.n_classes} classes apart, by its first token."]
    if about.get("quantisation"):
        kept = about.get("precision") or "float32"
        sentences.append(f"Its weights were stored as {about['quantisation']}, and are {kept} here.")
    elif about.get("precision"):
        sentences.append(f"Its weights were brought to {about['precision']}.")
    notes = [f"Left out: the head that says {about['left_out']}."] if about.get("left_out") else []
    if about.get("tokenizer_left_out"):
        notes.append(f"Without its tokenizer: {about['tokenizer_left_out']}. Ids are shown.")
    if about.get("chat_left_out"):
        notes.append(f"Without a question to begin with: {about['chat_left_out']}.")
    if about.get("settings_left_out"):
        notes.append(f"Settings for decoding in its folder that are not used here: "
                     f"{', '.join(about['settings_left_out'])}.")
    origin = re.sub(r"[^\w./@ -]", "_", str(about["imported_from"]))
    return "\n".join([
        f"# {re.sub(r'[^A-Za-z0-9._ -]', '_', name)}", "", " ".join(filter(None, sentences)), "",
        "## Where it is from", "",
        f"Imported from `{origin}`, a model of type {about['family']}. Licence: "
        f"{about.get('license') or 'not stated in its folder; ask where it came from'}.",
        "Its own page says how it was trained, on what data, and how good it is.", "", "## What it is", "",
        f"{layers}, {config.n_heads} heads, d_model {config.d_model}, d_ff {config.d_ff}, {config.norm_position}-norm,",
        f"{config.positions} positions, {config.vocab_size:,} pieces, at most {config.max_len:,} tokens:",
        f"{parameters:,} parameters. The weights are those of the folder; the code that runs them is Heads Up's.",
        *["", *notes][: 4 * len(notes)], ""])
