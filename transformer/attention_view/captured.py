"""A model of transformers that is held in memory: its attention is captured while it runs, and nothing is imported.

L layers, H heads, Tq queries, Tk keys, S source length, V vocabulary.
"""

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from transformer.attention_view.external_weights import ExternalWeights, Tensors
from transformer.inference.decoding import GREEDY, AnyStep, Sampling
from transformer.inference.validation import check_text, check_whole
from transformer.model.sites import NO_TAPS
from transformer.settings.config import Kind
from transformer.text.huggingface_tokenizers import byte_level_label
from transformer.text.tokenizer import Piece

MOST = 100_000_000  # weights of all heads that are kept of a text: 0.4 GB
RECENT = 2  # texts of which they are kept
NO_WEIGHTS = ('{name} gave no attention weights when it was asked for them; load it with attn_implementation="eager", '
              "or choose a model that has attention")
EAGER = "eager"  # the only attention of transformers that gives weights


def read(model: nn.Module, tokenizer: object, text: str | tuple[str, str], *,
         sampling: Sampling = GREEDY) -> "CapturedStep | Tensors":
    """The first step of a model that writes, after it has read `text`; of any other its attention over the text. Raises
    ValueError for what cannot be captured."""
    held = _Held(model, tokenizer, text)
    return held.start(sampling) if held.writes else held.seen


@dataclass(frozen=True, eq=False, repr=False)
class CapturedStep(AnyStep):
    """A step of another library's model, whose attention is captured when it is read."""

    _logits: Tensor
    _held: "_Held"

    change, taps = (), NO_TAPS

    @property
    def ckpt(self) -> None:
        return None

    @property
    def logits(self) -> Tensor:
        """(V,)."""
        return self._logits

    @property
    def text(self) -> str:
        return self._held.text

    @property
    def source(self) -> tuple[Piece, ...]:
        """The pieces of the text typed; an encoder also reads a last token after them."""
        return self._held.source

    @property
    def src(self) -> Tensor | None:
        """What the encoder read (1, S); None without an encoder."""
        return self._held.src

    @property
    def limit(self) -> int | None:
        return self._held.limit

    @property
    def finished(self) -> bool:
        return self.id in self._held.ends

    @property
    def allowed(self) -> Tensor:
        return self._held.allowed(self.logits, self.index)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.seen.kinds

    @property
    def seen(self) -> Tensors:
        """Its attention, as it is drawn."""
        seen = self._held.weights(self.tokens)
        makes = {kind: self.predicted(kind) for kind in seen.kinds if kind != "encoder"}
        return replace(seen, makes=makes, output=self.output)

    @property
    def attentions(self) -> Mapping[str, Tensor]:
        """Kind -> weights (L, H, Tq, Tk), all queries so far."""
        return self.seen.attentions

    @property
    def output(self) -> str:
        """The text written so far, `id` included."""
        return self._held.decode([*self.tokens, self.id][len(self.tokens) - self.index:])

    @property
    def whole(self) -> str:
        """The text typed and what was written after it."""
        everything = [*self.tokens, self.id]
        before, both = self._held.decode(everything[:len(self.tokens) - self.index]), self._held.decode(everything)
        return self.text + (both[len(before):] if both.startswith(before) else self.output)

    def same_text(self, other: object) -> bool:
        """`other` is a step of the same start, on this path or another."""
        return isinstance(other, CapturedStep) and other._held is self._held

    def axes(self, kind: str) -> tuple[list[str], list[str]]:
        return self._held.axes(kind, self.tokens)

    def label(self, id: int) -> str:
        return self._held.label(id)

    def next(self, id: int | None = None, *, sampling: Sampling = GREEDY) -> "CapturedStep":
        """The step after this one, which reads `id`, or what this one predicted. Raises ValueError where there is no
        room for another token, or the id is not in the vocabulary."""
        if id is not None:
            check_whole("the token", id, 0, len(self.logits) - 1)
        if self.full:
            raise ValueError(f"{len(self.tokens):,} tokens are read and this model reads at most {self.limit:,}")
        parent = self if id in (None, self.id) else replace(self, id=id)
        return self._held.step((*self.tokens, parent.id), parent, sampling)


class _Held:
    """What all steps of a text share: the model, its tokenizer, and what it has read."""

    def __init__(self, model: nn.Module, tokenizer: Any, text: str | tuple[str, str]):
        self.model, self.tokenizer = _unwrapped(model), tokenizer
        self.name = _name(self.model)
        if getattr(self.model, "main_input_name", None) != "input_ids" or not hasattr(self.model, "config"):
            raise ValueError(f"{self.name} is not a model of transformers that reads text; {_instead(self.model)}")
        if not callable(tokenizer) or not hasattr(tokenizer, "convert_ids_to_tokens"):
            raise ValueError(f"the tokenizer is of type {type(tokenizer).__name__}; give the model's own: "
                             "show(model, tokenizer, text)")
        self.texts = text if isinstance(text, tuple) else (text,)
        for one in self.texts:
            check_text(one)
        if len(self.texts) not in (1, 2):
            raise ValueError(f"{len(self.texts)} texts are given; give one, or two in a tuple")
        self.text = " / ".join(self.texts)
        self.config = self.model.config.get_text_config(decoder=True)
        self.byte_level = "Ġ" in "".join(self.tokenizer.tokenize("a a"))
        self._recent = lru_cache(RECENT)(self._captured)
        self.limit = self._most()
        self.inputs = self._inputs()
        self.ids = tuple(self.inputs["input_ids"][0].tolist())
        self.encoded = self._encoded() if self._translates else None
        self.writes = self.encoded is not None or self._writes()

    @property
    def src(self) -> Tensor | None:
        return None if self.encoded is None else self.inputs["input_ids"]

    @property
    def source(self) -> tuple[Piece, ...]:
        ids = self.ids if self.encoded is None else self.ids[:-1]
        unknown = getattr(self.tokenizer, "unk_token_id", None)
        return tuple(Piece(self.label(id), id, 0, 0, id == unknown) for id in ids)

    @property
    def seen(self) -> Tensors:
        """The attention over the text alone."""
        return self.weights(self.ids)

    def weights(self, tokens: tuple[int, ...]) -> Tensors:
        """All attention over some tokens."""
        return self._recent(tokens)[1]

    @property
    def ends(self) -> set[int]:
        ends = self._setting("eos_token_id")
        return {*ends} if isinstance(ends, list | tuple) else {ends} - {None}

    def start(self, sampling: Sampling) -> CapturedStep:
        return self.step(self.ids if self.encoded is None else (self._first(),), None, sampling)

    def step(self, tokens: tuple[int, ...], parent: CapturedStep | None, sampling: Sampling) -> CapturedStep:
        logits, _ = self._recent(tokens)  # what cannot be drawn is refused before it is stepped
        assert logits is not None
        index = 0 if parent is None else parent.index + 1
        allowed = self.allowed(logits, index)
        return CapturedStep(index, sampling.choose(allowed, index), int(allowed.argmax()), tokens, parent, logits, self)

    def allowed(self, logits: Tensor, index: int) -> Tensor:
        """Logits (V,), -inf where the model's settings for generation keep a token from being chosen."""
        forced = self._setting("forced_bos_token_id")
        if self.encoded is not None and index == 0 and forced is not None:
            return torch.full_like(logits, float("-inf")).index_fill(0, torch.tensor([forced]), 0.0)
        banned = {id for words in self._setting("bad_words_ids") or () if len(words) == 1 for id in words}
        banned |= {*(self._setting("suppress_tokens") or ())}
        banned |= {*(self._setting("begin_suppress_tokens") or ())} if index == 0 else set()
        banned = [id for id in banned if 0 <= id < len(logits)]
        return logits.index_fill(0, torch.tensor(banned), float("-inf")) if banned else logits

    def axes(self, kind: str, tokens: Sequence[int]) -> tuple[list[str], list[str]]:
        read, source = (list(map(self.label, ids)) for ids in (tokens, self.ids))
        if self.encoded is None:
            return read, read
        return {"encoder": (source, source), "decoder": (read, read), "cross": (read, source)}[kind]

    def label(self, id: int) -> str:
        """A token as text to show, with "▁" for a space; "<id>" outside the tokenizer's vocabulary."""
        try:
            token = self.tokenizer.convert_ids_to_tokens(id)
        except (IndexError, KeyError, OverflowError):
            token = None
        if token is None:
            return f"<{id}>"
        return byte_level_label(token) if self.byte_level else token

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def _setting(self, name: str) -> Any:
        """What the model generates with, by the name that transformers has for it."""
        places = [getattr(self.model, "generation_config", None), self.model.config]
        places += [] if self._translates else [self.config]  # of a decoder, that of its part that reads text
        return next((value for place in places if (value := getattr(place, name, None)) is not None), None)

    def _most(self) -> int | None:
        """The most tokens of one side; None where the model has no limit."""
        limits = [getattr(self.config, name, None) for name in ("max_position_embeddings", "n_positions")]
        known = [limit for limit in limits if isinstance(limit, int) and limit > 0]
        relative = hasattr(self.config, "relative_attention_num_buckets")
        return known[0] if known and not relative else None

    def _inputs(self) -> dict[str, Tensor]:
        """What the tokenizer makes of the text, as far as the model takes it."""
        made = self.tokenizer(*self.texts)
        if "input_ids" not in made:
            raise ValueError(f"the tokenizer gives {' and '.join(made)} and no input_ids; give the model's own")
        takes = _takes(self.model) or getattr(self.tokenizer, "model_input_names", ())
        ids = list(made["input_ids"])
        first = self._setting("bos_token_id")
        if not ids and first is not None and self.model.can_generate() and not self._translates:
            made = {"input_ids": [first]}
        elif not ids:
            raise ValueError("there is nothing to read; type a sentence")
        self._check_length(len(made["input_ids"]))
        return {name: torch.tensor([list(made[name])], device=self.model.device)
                for name in ("input_ids", "attention_mask", "token_type_ids")
                if name in made and (name in takes or name == "input_ids")}

    def _check_length(self, tokens: int) -> None:
        if self.limit is not None and tokens > self.limit:
            raise ValueError(f"this text has {tokens:,} tokens; {self.name} reads at most {self.limit:,}. Please "
                             "shorten it")

    def _first(self) -> int:
        """What an encoder-decoder's decoder begins with."""
        first = next((id for name in ("decoder_start_token_id", "bos_token_id")
                      if (id := self._setting(name)) is not None), None)
        if first is None:
            raise ValueError(f"{self.name} does not say with which token its decoder begins; set "
                             "model.generation_config.decoder_start_token_id")
        return first[0] if isinstance(first, list) else first

    def _writes(self) -> bool:
        """Whether it goes on with a text from left to right: it generates, and looks at nothing that comes later."""
        if not self.model.can_generate():
            return False
        seen = self.weights(self.ids if len(self.ids) > 1 else self.ids * 2)
        return all(seen.mask(kind).triu(1).sum() == 0 for kind in seen.kinds)

    @property
    def _translates(self) -> bool:
        return bool(getattr(self.model.config, "is_encoder_decoder", False))

    def _encoded(self) -> Any:
        if not self.model.can_generate():
            raise ValueError(f"{self.name} has no head that writes; open the same model as AutoModelForSeq2SeqLM")
        self._check_count(len(self.ids))
        return self._called(self.model.get_encoder(), **self.inputs)

    def _captured(self, tokens: tuple[int, ...]) -> tuple[Tensor | None, Tensors]:
        """The logits (V,) after some tokens, of a model that has such, and all attention over them."""
        self._check_count(len(tokens))
        ids = torch.tensor([tokens], device=self.model.device)
        if self.encoded is not None:
            mask = self.inputs.get("attention_mask")
            output = self._called(self.model, encoder_outputs=self.encoded, decoder_input_ids=ids, attention_mask=mask)
        elif tokens == self.ids:
            output = self._called(self.model, **self.inputs)
        else:
            output = self._called(self.model, input_ids=ids)
        logits = output.logits[0, -1].float().cpu() if self.model.can_generate() else None
        return logits, self._tensors(output, tokens)

    def _check_count(self, tokens: int) -> None:
        """Refuse a text with too many weights before they are computed."""
        sizes = [size for name in ("num_hidden_layers", "num_attention_heads")
                 if isinstance(size := getattr(self.config, name, None), int)]
        if len(sizes) == 2 and (count := sizes[0] * sizes[1] * tokens ** 2) > MOST:
            raise ValueError(f"the attention over {tokens:,} tokens has {count:,} weights; at most {MOST:,} are kept. "
                             "Please shorten the text")

    def _called(self, model: nn.Module, **inputs: Any) -> Any:
        """One forward pass with all that gives weights switched on, after which the model is as it was."""
        if "use_cache" in _takes(_unwrapped(model)):
            inputs["use_cache"] = False
        try:
            with _readable(self.model), torch.no_grad(), torch.compiler.set_stance("force_eager"):
                return model(**inputs, output_attentions=True, return_dict=True)
        except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise ValueError(f"{self.name} cannot be run with its attention captured: {error}") from error

    def _tensors(self, output: Any, tokens: tuple[int, ...]) -> Tensors:
        """What a forward pass gave, with its tokens."""
        if self.encoded is None:
            found = {"attention": getattr(output, "attentions", None)}
        else:
            found = {"encoder_attention": getattr(self.encoded, "attentions", None),
                     "decoder_attention": getattr(output, "decoder_attentions", None),
                     "cross_attention": getattr(output, "cross_attentions", None)}
        there = {name: [layer for layer in layers or () if layer is not None] for name, layers in found.items()}
        if not all(there.values()):
            raise ValueError(NO_WEIGHTS.format(name=self.name))
        self._check_shapes(there, tokens)
        read, source = self.axes("cross" if self.encoded is not None else "decoder", tokens)
        given: dict[str, Any] = dict(there)
        given |= {"tokens": read} if self.encoded is None else {"encoder_tokens": source, "decoder_tokens": read}
        tensors = ExternalWeights(**given, prettify_tokens=False).tensors()
        numbers = self._numbers(found.get("attention"), tensors)
        return replace(tensors, text=self.text, origin=self.name, numbers=numbers)

    def _check_shapes(self, found: Mapping[str, Sequence[Any]], tokens: tuple[int, ...]) -> None:
        """Refuse attention that is not between all tokens, such as that of a window or of hashes."""
        sizes = {"attention": (len(tokens),) * 2, "encoder_attention": (len(self.ids),) * 2,
                 "decoder_attention": (len(tokens),) * 2, "cross_attention": (len(tokens), len(self.ids))}
        for name, layers in found.items():
            for layer in layers:
                shape = tuple(getattr(layer, "shape", ()))
                if len(shape) != 4 or shape[0] != 1 or shape[2:] != sizes[name]:
                    raise ValueError(f"{self.name} gave attention of the shape {shape}, where heads have weights from "
                                     f"every token to every token, {(1, 'heads', *sizes[name])}; it cannot be shown")

    def _numbers(self, layers: Sequence[object] | None, tensors: Tensors) -> dict[str, list[int]] | None:
        """The numbers of the layers that have attention, where some have none."""
        if layers is None:
            return None
        kinds = getattr(self.config, "layer_types", None) or ()
        places = [at for at, layer in enumerate(layers) if layer is not None]
        if len(places) == len(layers) < len(kinds):
            places = [at for at, kind in enumerate(kinds) if "attention" in kind and "linear" not in kind]
        first, = tensors.attentions.values()
        if len(places) != len(first) or places == [*range(len(kinds) or len(layers))]:
            return None
        return {"layers": places, "heads": [*range(first.shape[1])]}


def _unwrapped(model: nn.Module) -> Any:
    """The model of transformers in what compiles it, shares it out over devices, or adapts it as PEFT does."""
    while not hasattr(type(model), "main_input_name"):
        if getattr(getattr(model, "active_peft_config", None), "is_prompt_learning", False):
            raise ValueError(f"{type(model).__name__} puts vectors before the text that are no tokens; show the model "
                             "without them: show(model.get_base_model(), tokenizer, text)")
        parts = dict(model.named_children())
        inner: Any = parts.get("_orig_mod", parts.get("module"))
        if callable(base := getattr(model, "get_base_model", None)):
            inner = base()
        if inner is None:
            break
        model = inner
    return model


def _instead(model: nn.Module) -> str:
    """What can be shown in place of what is no model of transformers."""
    found = next(((name, type(part).__name__) for name, part in model.named_modules()
                  if getattr(type(part), "main_input_name", None) == "input_ids"), None)
    return ("hand in its attention with its tokens: show(attention, tokens)" if found is None else
            f'its part "{found[0]}" is a {found[1]}: show that one')


def _takes(model: nn.Module) -> Collection[str]:
    """The names of what a model reads; none where neither it nor its class names any."""
    signatures = (inspect.signature(one.forward).parameters for one in (model, type(model)))
    return next((names for names in signatures if "input_ids" in names), ())


def _name(model: nn.Module) -> str:
    """The model's class, and where it was loaded from."""
    place = getattr(getattr(model, "config", None), "name_or_path", "") or ""
    return f"{type(model).__name__} {place}".strip()


@contextmanager
def _readable(model: Any) -> Iterator[None]:
    """The model without dropout and with the attention that gives weights; afterwards it is as it was."""
    training = [module for module in model.modules() if module.training]
    before = [(config, config._attn_implementation) for config in _configs(model)]
    try:
        for module in training:
            module.training = False
        if hasattr(model, "set_attn_implementation") and any(name != EAGER for _, name in before):
            model.set_attn_implementation(EAGER)
        yield
    finally:
        for module in training:
            module.training = True
        for config, name in before:
            if config._attn_implementation != name:
                config._attn_implementation = {"": name}  # its own, and not that of its parts


def _configs(model: nn.Module) -> list[Any]:
    """The configurations of a model and of its parts, each of which says what attention it has."""
    found, ahead = {}, [getattr(module, "config", None) for module in model.modules()]
    while ahead:
        config = ahead.pop()
        if id(config) not in found and hasattr(config, "_attn_implementation"):
            found[id(config)] = config
            ahead += [getattr(config, name, None) for name in getattr(config, "sub_configs", ())]
    return [*found.values()]
