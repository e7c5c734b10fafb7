"""Other people's models as checkpoints of ours: a folder or a name in, a folder that `transformer.load` opens out."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from transformer import checkpoint
from transformer.config import ModelConfig
from transformer.huggingface.card import import_card, licence
from transformer.huggingface.families import FAMILIES
from transformer.huggingface.folder import Refused, fit, read, read_json, tensors
from transformer.huggingface.languages import languages_of
from transformer.huggingface.needs import check_needs
from transformer.huggingface.plan import Plan
from transformer.huggingface.vocabulary import tokenizer_settings, tokenizers_of
from transformer.model.models import Transformer
from transformer.model.positions import POSITIONS
from transformer.places import home
from transformer.weights import Stored, check_tables

SMALL = ("*.json", "*.txt", "*.spm", "*.md", "LICENSE*", "*.safetensors")  # what is fetched by name


def import_model(source: str | Path, out: Path | None = None, *, ids: bool = False) -> Path:
    """Make a checkpoint of a Hugging Face folder, or of a model by name, and return its folder.

    out: where to, else imports/<name> under HEADSUP_HOME. ids: leave its tokenizer out. Raises ValueError in one
    sentence where the folder is damaged, hostile, or needs what our models lack; nothing is written then.
    """
    folder = Path(source)
    if folder.is_dir():
        return _import(folder.resolve(), out, ids=ids, origin=folder.resolve().name or "model")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", str(source)) or ".." in str(source):
        raise Refused(f"there is no folder {str(source)[:80]}, and it is no model's name such as openai-community/gpt2")
    if not find_spec("huggingface_hub"):
        raise Refused(f"there is no folder {source}, and fetching a model by its name needs "
                      "`pip install transformers`")
    with TemporaryDirectory() as place:
        return _import(_fetch(str(source), Path(place)), out, ids=ids, origin=str(source))


def _fetch(name: str, place: Path) -> Path:
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(name, local_dir=place, allow_patterns=list(SMALL))
    except Exception as error:  # the package has dozens of them, down to the network's own
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise Refused(f"there is no folder {name}, and it cannot be fetched by that name ({reason[0][:160]})") from None
    return place


def default_out(origin: str) -> Path:
    """Where an import goes by itself: imports/<name> under HEADSUP_HOME, else under runs."""
    return home() / "imports" / (re.sub(r"[^\w.-]+", "-", origin.split("/")[-1]).strip(".-") or "model")


def plan_of(config: Mapping[str, object], names: Mapping[str, object]) -> Plan:
    """How a model of that config.json becomes one of ours, given the weights that are there. Raises Refused, naming all
    that ours lack."""
    check_needs(config, tuple(FAMILIES))
    return FAMILIES[str(config["model_type"])](config, names)


def examine(folder: Path) -> tuple[dict[str, object], dict[str, Stored], Plan]:
    """What a folder's configuration says, the tensors that its headers name, and how they become ours. Reads JSON and
    headers only. Raises Refused where they do not fit each other, or our models."""
    config = read_json(folder / "config.json")
    if (folder / "generation_config.json").exists():
        decides = ("eos_token_id", "decoder_start_token_id", "bad_words_ids", "suppress_tokens")
        generation = read_json(folder / "generation_config.json")
        config |= {key: generation[key] for key in decides if generation.get(key) is not None}
    plan_of(config, {})  # what it says against itself is said before its weights are looked at
    found = {_today(name): stored for name, stored in tensors(folder).items()}
    plan = plan_of(config, found)
    fit(found, _everything(plan), spare=plan.spare, folder=folder.name)
    check_tables(plan.config, found)
    return config, found, plan


def _everything(plan: Plan) -> dict[str, tuple[int, ...]]:
    return {name: shape for part in (*plan.parts.values(), *plan.positions.values())
            for name, shape in part.shapes.items()}


def _import(folder: Path, out: Path | None, *, ids: bool, origin: str) -> Path:
    out = out or default_out(origin)
    if out.exists() and not _was_imported(out):
        raise Refused(f"{out} exists and was not imported; choose another place with --out")
    config, found, plan = examine(folder)
    everything = _everything(plan)
    tokenizer, source_tokenizer, settings, why_not = tokenizers_of(folder, config, plan.config, wanted=not ids)
    values = read(found, set(everything))
    ours, weights = _settle(plan, values)
    ours = ours.replace(**settings)
    model = Transformer(ours)
    model.load_state_dict(weights)
    half = {found[name].dtype for name in everything} == {"F16"}
    spoken = ours.task == "translation" and languages_of(tokenizer_settings(folder), origin,
                                                    str(config.get("_name_or_path")))
    about = {"saved": None, "imported_from": origin, "family": str(config["model_type"]), "license": licence(folder),
             **{key: value for key, value in (("classes", plan.classes), ("left_out", plan.left_out),
                                              ("tokenizer_left_out", why_not), ("languages", spoken)) if value}}
    card = import_card(out.name, ours, about, parameters=sum(p.numel() for p in model.parameters()))
    checkpoint.save(out, model, tokenizer=tokenizer, source_tokenizer=source_tokenizer, half=half, meta=about,
                    files={"README.md": card.encode()})
    return out


def _was_imported(out: Path) -> bool:
    try:
        return "imported_from" in checkpoint.describe(out).meta
    except ValueError:
        return False


def _today(name: str) -> str:
    """The name that a tensor has today: TensorFlow's gamma and beta are weight and bias."""
    return re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name))


def _settle(plan: Plan, values: Mapping[str, Tensor]) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Our weights, and the configuration now that it shows which of them are equal and what the positions are."""
    weights = plan.made | {ours: part.take(*(values[name] for name in part.names))
                           for ours, part in plan.parts.items()}
    first, *others = [weights[name] for name in ("tgt_embedding.tokens.weight", "src_embedding.tokens.weight",
                                                 "output.weight") if name in weights]
    ties = plan.config.decoder_layers or plan.config.head == "masked"
    tied = bool(ties) and all(torch.equal(one, first) for one in others)  # False too where their shapes differ
    config = plan.config.replace(tie_embeddings=tied)
    if plan.positions:
        table = POSITIONS[config.positions].added(config)
        tables = {name: part.take(*(values[one] for one in part.names)) for name, part in plan.positions.items()}
        if not all(torch.allclose(one, table, rtol=0, atol=1e-6) for one in tables.values()):
            config = config.replace(positions="learned")  # sinusoids that were rounded, say: taken as they are
            weights |= {f"{side}.positions.weight": tables.get(side, table)
                        for side in ("src_embedding", "tgt_embedding")}
    return config, weights
