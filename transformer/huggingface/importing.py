"""Imports other people's models: a folder, a file or a name in, a folder that `transformer.load` opens out."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from transformer.basics.paths import home
from transformer.checkpoints import checkpoint
from transformer.checkpoints.weights import PRECISIONS, check_tables, clean, is_matrix
from transformer.huggingface.chat import opening
from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families import FAMILIES
from transformer.huggingface.folder import CHAT, Folder, Refused, fit
from transformer.huggingface.gguf import GgufFile
from transformer.huggingface.language_codes import languages_of
from transformer.huggingface.model_card import import_card, not_used
from transformer.huggingface.plan import Part, Plan
from transformer.huggingface.source import Source
from transformer.huggingface.tokenizer_choice import TokenizerChoice, of_content, tokenizers_of
from transformer.huggingface.unsupported import check_needs
from transformer.model.models import Transformer
from transformer.model.positions import POSITIONS
from transformer.settings.config import ModelConfig, Precision
from transformer.text.tokenizer import TokenizerFile

LONGEST_NAME, LONGEST_DEFAULT = 200, 100  # bytes of a folder's name; disks take 255, including temporary suffixes


def import_model(source: str | Path, out: Path | None = None, *, ids: bool = False,
                 precision: Precision | None = None, languages: tuple[str, str] | None = None) -> Path:
    """Makes a checkpoint of a Hugging Face folder, a GGUF file, or a model by name, which may have a revision as in
    name@step1000, and returns its folder.

    out: the folder; None: imports/<name> under HEADSUP_HOME. ids: leave its tokenizer out. precision: of the large
    weights; None: as they are stored, or float32 if they are quantised. languages: the codes of the source and the
    target of a translator of many, as its tokenizer spells them (eng_Latn and fra_Latn); None: those that its folder
    names, else English and French. Raises ValueError in one sentence if the folder is damaged, hostile, or needs what
    our models lack, and for a language that it does not have; then nothing is written.

    >>> exported = transformer.export_model(transformer.load("checkpoints/write"), tmp / "step1000")
    >>> transformer.load(transformer.import_model(exported, tmp / "imported", ids=True)).config.kinds
    ('decoder',)
    """
    origin = Source.of(source)
    with origin.opened() as path:
        return import_folder(path, out, ids=ids, origin=origin.origin, precision=precision, languages=languages,
                             step=origin.step if origin.revision else None)


def default_out(origin: str) -> Path:
    """The default folder of an import: imports/<name> under HEADSUP_HOME, else under runs."""
    name = re.sub(r"[^\w.-]+", "-", origin.split("/")[-1])
    name = name.encode()[:LONGEST_DEFAULT].decode(errors="ignore").strip(".-")
    return home() / "imports" / (name or "model")


def plan_of(config: Mapping[str, object], names: Mapping[str, object]) -> Plan:
    """The plan for a model of that config.json, given the weights that are there. Raises Refused, naming all that ours
    lack."""
    check_needs(config, tuple(FAMILIES))
    kind = str(config["model_type"])
    try:
        return FAMILIES[kind](ConfigJson(config), names)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # such as a list in place of a number
        raise Refused(f"config.json has a setting that does not fit a model of type {kind} ({str(error)[:80]}); copy "
                      "the folder again") from None


def examine(opened: Folder | GgufFile) -> Plan:
    """The plan for a folder or file, from JSON and headers only. Raises Refused if they do not fit each other, or our
    models."""
    plan_of(opened.config, {})  # errors of the configuration alone come first
    plan = plan_of(opened.config, opened.tensors)
    fit(opened.tensors, _everything(plan), spare=plan.spare, folder=opened.path.name)
    check_tables(plan.config, opened.tensors)
    return plan


def _everything(plan: Plan) -> dict[str, tuple[int, ...]]:
    return {name: shape for part in (*plan.parts.values(), *plan.positions.values())
            for name, shape in part.shapes.items()}


def open_model(path: Path) -> Folder | GgufFile:
    """Opens a GGUF file, a folder that has one and no other model, or a Hugging Face folder."""
    if path.is_dir() and not (path / "config.json").exists() and len(files := sorted(path.glob("*.gguf"))) == 1:
        path = files[0]
    return GgufFile(path) if path.is_file() else Folder(path)


def import_folder(path: Path, out: Path | None, *, ids: bool, origin: str, step: int | None = None,
                  precision: Precision | None = None, languages: tuple[str, str] | None = None) -> Path:
    """Imports a folder or file. origin: its name where it is from; step: of its training."""
    out = out or default_out(origin)
    check_place(out)
    opened = open_model(path)
    plan = examine(opened)
    tokenizer, source_tokenizer, settings, why_not = _tokenizers(opened, plan.config, wanted=not ids,
                                                                 languages=languages)
    ours, weights = _settle(plan, opened.read)
    ours = ours.replace(**settings)
    if precision:
        weights = {name: weight.to(PRECISIONS[precision]) if is_matrix(name, weight) else weight
                   for name, weight in weights.items()}
    named: Mapping[str, object] = opened.settings
    if languages:
        named = {"src_lang": languages[0], "tgt_lang": languages[1]}
    spoken = ours.task == "translation" and languages_of(named, origin.partition("@")[0],
                                                         str(opened.config.get("_name_or_path")))
    chat, no_chat = _chat(opened, tokenizer)
    about = {"saved": None, "imported_from": origin, "family": str(opened.config["model_type"]),
             "license": opened.licence, **({} if step is None else {"step": step}), **{
                 key: value for key, value in (
                     ("classes", plan.classes), ("left_out", plan.left_out), ("tokenizer_left_out", why_not),
                     ("settings_left_out", not_used(opened.config)), ("languages", spoken),
                     ("chat", chat), ("chat_left_out", no_chat),
                     ("quantisation", opened.quantisation), ("precision", precision)) if value}}
    model = Transformer.holding(ours, weights)
    card = import_card(out.name, ours, about, parameters=sum(p.numel() for p in model.parameters()))
    checkpoint.save(out, model, tokenizer=tokenizer, source_tokenizer=source_tokenizer, meta=about,
                    files={"README.md": card.encode()} | (
                        {CHAT: opened.chat_template.encode()} if tokenizer and opened.chat_template else {}))
    return out


def _tokenizers(opened: Folder | GgufFile, config: ModelConfig, *, wanted: bool,
                languages: tuple[str, str] | None) -> TokenizerChoice:
    if isinstance(opened, Folder) or not wanted:
        choice = tokenizers_of(opened.path, opened.config, config, wanted=wanted, languages=languages)
    else:
        choice = _of_gguf(opened, config)
    if languages and not choice[2].keys() & {"start_id", "forced_bos_id"}:
        raise Refused(f"{opened.path.name} brings no tokenizer with languages to choose from, as NLLB, M2M100 and "
                      "mBART do; leave --languages out")
    return choice


def _of_gguf(opened: GgufFile, config: ModelConfig) -> TokenizerChoice:
    content = opened.tokenizer_json()
    if content is None:
        return None, None, {}, f"its kind, {opened.tokenizer_kind}, is not supported"
    return of_content(content, config, name=opened.path.name)


def _chat(opened: Folder | GgufFile, tokenizer: TokenizerFile | None) -> tuple[str | None, str | None]:
    """A question in the model's chat format, if it has one, and the reason if its template gives none."""
    if tokenizer is None or not opened.chat_template:
        return None, None
    try:
        return opening(opened.chat_template, tokenizer, tokens=opened.special_tokens), None
    except Refused as error:
        return None, str(error)


def check_place(out: Path) -> None:
    """Raises Refused if `out` exists and is no import, or its name is too long."""
    if len(out.name.encode(errors="replace")) > LONGEST_NAME:
        raise Refused(f"{clean(out.name)} is too long a name for a folder; choose a shorter one with --out")
    if out.exists() and not _was_imported(out):
        raise Refused(f"{out} exists and was not imported; choose another place with --out")


def _was_imported(out: Path) -> bool:
    try:
        return "imported_from" in checkpoint.describe(out).meta
    except ValueError:
        return False


def _settle(plan: Plan, read: Callable[[str], Tensor]) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Our weights, the large ones in the precision in which they are stored, and the configuration, which now says
    which weights are equal and what the positions are."""
    tensors: dict[tuple[str, ...], list[Tensor]] = {}

    def taken(part: Part) -> Tensor:
        """Every tensor of theirs is read once, for those that are parts of one lie in it."""
        if part.theirs not in tensors:
            tensors[part.theirs] = [read(name) for name in part.theirs]
        return part.take(*tensors[part.theirs])

    weights = dict(plan.constants)
    for ours, part in plan.parts.items():
        weight = taken(part)
        weights[ours] = (weight if is_matrix(ours, weight) else weight.float()).contiguous()
    first, *others = [weights[name] for name in ("tgt_embedding.tokens.weight", "src_embedding.tokens.weight",
                                                 "output.weight") if name in weights]
    ties = plan.config.decoder_layers or plan.config.head == "masked"
    tied = bool(ties) and all(torch.equal(one, first) for one in others)  # also False if their shapes differ
    config = plan.config.replace(tie_embeddings=tied)
    if plan.positions:
        table = POSITIONS[config.positions].added(config)
        assert table is not None
        tables = {name: taken(part).float() for name, part in plan.positions.items()}
        if not all(torch.allclose(one, table, rtol=0, atol=1e-6) for one in tables.values()):
            config = config.replace(positions="learned")  # sinusoids that were rounded, say: taken as they are
            weights |= {f"{side}.positions.weight": tables.get(side, table)
                        for side in ("src_embedding", "tgt_embedding")}
    return config, weights
