"""One HTML file that runs models: no server, no network, no installation."""

import base64
import hashlib
import html
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from string import Template

import orjson

from transformer.attention_view.offline_page import texts_of
from transformer.attention_view.script_bundle import script
from transformer.basics.design import document_style, font_style
from transformer.checkpoints.checkpoint import Checkpoint, load
from transformer.checkpoints.openings import opening_of
from transformer.diagram.blocks import model_blocks
from transformer.evaluation.unfamiliar_text import read_familiar
from transformer.inference.sampling_settings import SETTINGS
from transformer.jobs.run_files import replace
from transformer.publishing.weights import LARGEST, SAMPLED, pack
from transformer.settings.task import TASKS
from transformer.text.corpus_catalogue import find_source
from transformer.text.sides import sides_of

JS = Path(__file__).parent / "js"
# What is not run stays out of the policy: models, and the worker, which the page starts from its text. The page's
# script does not wait for the models (`async`), which come in parts, so that the worker opens them on their way.
PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src $hashes; worker-src blob:; \
style-src $style_hash; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer"><title>$title</title>
<style>$style</style></head><body><div id="page"><p class="said">Opening …</p><noscript>$cannot</noscript>
<p class="said problem" id="cannot" hidden>$cannot</p></div>
<script>$watch</script>
<script type="application/json" id="models">$models</script>
<script type="text/plain" id="worker">$worker</script>
<script type="module" async>$script</script>
$packed
</body></html>
""")
CANNOT = ("This page cannot start: the file is incomplete, scripts are blocked, or the browser is too old. Download "
          "the file again, or try Firefox 128, Chrome 123, Safari 17.5 or later.")


def publish(checkpoints: Sequence[Checkpoint | Path | str] | Checkpoint | Path | str, out: Path | str) -> Path:
    """Write one HTML file that runs these checkpoints in any browser, from a disk or a static host, in place of what
    may be there; returns its path. Raises ValueError for what cannot be published, with the reason.

    >>> transformer.publish("checkpoints/write", tmp / "write.html").name
    'write.html'
    """
    out = Path(out)
    if out.is_dir():
        raise ValueError(f"{out} is a folder; name a file in it")
    if not out.parent.is_dir():
        raise ValueError(f"there is no folder {out.parent}; make it first, or name another")
    replace(out, page(checkpoints).encode())
    return out


def page(checkpoints: Sequence[Checkpoint | Path | str] | Checkpoint | Path | str) -> str:
    """The file as text; see `publish`."""
    given = [checkpoints] if isinstance(checkpoints, Checkpoint | Path | str) else [*checkpoints]
    if not given:
        raise ValueError("no checkpoint is given; name the folders of those to publish")
    opened = [one if isinstance(one, Checkpoint) else load(one) for one in given]
    if twice := sorted({one.id for one in opened if sum(other.id == one.id for other in opened) > 1}):
        raise ValueError(f"{', '.join(twice)} is given twice; name each checkpoint once")
    packed = [pack(one) for one in opened]
    if (size := sum(map(len, packed))) > LARGEST:
        what = "these models take" if len(packed) > 1 else "this model takes"
        rather = "Publish fewer in one" if len(packed) > 1 else "`headsup export` halves a run's weights"
        raise ValueError(f"{what} {size:,} bytes; a page holds at most {LARGEST:,}. {rather}")
    models = [about(one, len(data)) for one, data in zip(opened, packed, strict=True)]
    for key in ("name", "id"):  # two of a task are told apart by name, and where that is one by hash
        counts = Counter(one["title"] for one in models)
        for one in models:
            one["title"] = one[key] if counts[one["title"]] > 1 else one["title"]
    own = script(JS / "page" / "page.js", along=["#view/model/model_view.js"])
    style = document_style() + font_style() + (JS / "page" / "page.css").read_text("utf-8")
    return PAGE.substitute(
        title=html.escape(f"{models[0]['title']} · Heads Up"), cannot=html.escape(CANNOT), script=own, watch=WATCH,
        hashes=f"{_hash(WATCH)} {_hash(own)}", style=style, style_hash=_hash(style),
        worker=_inside(script(JS / "worker" / "worker.js")),
        models=orjson.dumps({"models": models, **settings()}).decode().replace("<", "\\u003c"),
        packed="\n".join(f'<script type="application/octet-stream" data-model="{at}">{text}</script>'
                         for at, data in enumerate(packed) for text in texts_of(data)))


# In a script of its own, which runs where the page's own is cut off or cannot be read.
WATCH = """window.addEventListener("load", function () {
  var cannot = document.getElementById("cannot");
  if (!cannot || window.headsup) return;
  cannot.hidden = false;
  document.getElementById("page").firstElementChild.hidden = true;
});"""


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _inside(text: str) -> str:
    """A script that does not end the element that it stands in."""
    return text.replace("</", "<\\/").replace("<!--", "<\\!--")


def settings() -> dict[str, list[object]]:
    """The settings of sampling that the page has, and the names of those that it lacks."""
    return {"settings": [{"name": one.name, "label": one.label, "help": one.help, "off": one.off,
                          "offered": one.offered, "whole": one.type is int, "sampled": one.sampled}
                         for one in SETTINGS if one.name in SAMPLED],
            "lacks": [one.name for one in SETTINGS if one.name not in SAMPLED]}


def about(ckpt: Checkpoint, size: int) -> dict[str, object]:
    """What the page says of a model, before its weights are read."""
    config, task, opening = ckpt.config, TASKS[ckpt.config.task], opening_of(ckpt.description)
    parameters = sum(one.numel() for one in ckpt.model.parameters())
    step = "" if ckpt.description.step is None else f" Training step {ckpt.description.step:,}."
    return {"id": ckpt.id, "name": ckpt.description.name, "task": config.task, "title": task.title,
            "about": f"{task.model}, {parameters / 1e6:.1f} million parameters.{step}", "bytes": size,
            "steps": bool(config.decoder_layers), "layers": {kind: config.layers(kind) for kind in config.kinds},
            "heads": config.n_heads, "tree": model_blocks(config).to_json(), "first": opening.selection,
            "temperature": opening.temperature, "opening": opening.ahead, "classes": ckpt.classes,
            "examples": [{"text": one.text, "label": one.label} for one in opening.examples],
            "spellings": familiar.spellings if (familiar := read_familiar(ckpt)) else {},
            **_words(ckpt, or_choose=", or choose an example" if opening.examples else "")}


def _words(ckpt: Checkpoint, *, or_choose: str) -> dict[str, object]:
    """What is said to those who type."""
    task = ckpt.config.task
    if not ckpt.reads_text:
        return {"lines": False, "emptyReads": task == "text", "label": "Token ids",
                "placeholder": "Type token ids, such as 5 8 13, and press Enter",
                "invites": "Type token ids above and press Enter.", "sides": {"source": "Source", "target": "Target"},
                "question": "Which class?"}
    if task == "translation":
        sides = sides_of(ckpt.description.languages)
        return {"lines": False, "emptyReads": False, "label": sides.sentence,
                "placeholder": "Type a sentence and press Enter",
                "invites": f"Type {sides.typed} above and press Enter{or_choose}.",
                "sides": {"source": sides.source, "target": sides.target}}
    if task == "text":
        return {"lines": True, "emptyReads": True, "label": "How the text begins", "invites": "",
                "placeholder": "Type a beginning and press Ctrl+Enter, or start from nothing"}
    source = find_source(ckpt.meta.get("corpus"))
    what = source.unit if source else "text"
    return {"lines": True, "emptyReads": False, "label": f"A {what}",
            "placeholder": f"Type or paste a {what} and press Ctrl+Enter",
            "invites": f"Type or paste a {what} above and press Ctrl+Enter{or_choose}.",
            "question": (source and source.question) or "Which class?"}
