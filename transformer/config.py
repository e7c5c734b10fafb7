"""What a model is and how it is trained, as checked values that go to JSON and back."""

from math import log
from typing import Annotated, Literal, Self, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

Kind = Literal["encoder", "decoder", "cross"]  # of attention
KINDS: tuple[Kind, ...] = get_args(Kind)
Task = Literal["translation", "text", "classes", "reads"]  # reads: an encoder that has no classes
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
Size = Annotated[int, Field(ge=1, le=65_536)]
Layers = Annotated[int, Field(ge=0, le=96)]
MOST_PINNED, LONGEST_PINNED = 4, 500  # texts, and characters of one
LONGEST_LANGUAGE = 40  # characters of its name
Id = Annotated[int, Field(ge=0, le=1_000_000)]


class Config(BaseModel):
    """Frozen, and a key that is not known is refused rather than ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def replace(self, **changes: object) -> Self:
        """A checked copy with some values changed; raises pydantic's ValidationError (a ValueError)."""
        return type(self).model_validate({**self.model_dump(), **changes})


class ModelConfig(Config):
    """The architecture. With encoder and decoder layers it translates, with only a decoder it writes, with only an
    encoder it classifies, fills in masked pieces (BERT), or does nothing but read."""

    d_model: Size = 128
    n_heads: Annotated[int, Field(ge=1, le=128)] = 4
    head_dim: Annotated[int, Field(ge=1, le=4096)] | None = None  # None: d_model / n_heads
    encoder_layers: Layers = 2
    decoder_layers: Layers = 2
    d_ff: Size = 512
    vocab_size: Annotated[int, Field(ge=1, le=1_000_000)] = 8_000
    src_vocab_size: Annotated[int, Field(ge=1, le=1_000_000)] | None = None  # None: one vocabulary for both sides
    max_len: Size = 128

    dropout: Fraction = 0.1
    attention_dropout: Fraction | None = None  # of the attention weights; None: the same as dropout
    output_dropout: Fraction = 0.0  # before the output projection
    norm: Literal["pre", "post"] = "pre"
    norm_eps: Annotated[float, Field(gt=0.0, le=0.1)] = 1e-5
    positions: Literal["sinusoidal", "learned", "rotary", "alibi", "none"] = "sinusoidal"
    sinusoid_layout: Literal["interleaved", "halves"] = "interleaved"
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "relu"
    embedding_norm: bool = False
    embedding_scale: bool = True  # multiply embeddings by sqrt(d_model)
    type_vocab: Annotated[int, Field(ge=0, le=16)] = 0  # segment embeddings (BERT); 0: none
    tie_embeddings: bool = True  # source, target and output share one matrix
    logits_bias: bool = False
    init: Literal["xavier_uniform", "normal"] = "xavier_uniform"
    pooling: Literal["max", "mean", "first"] | None = None  # "first": the first token's row alone, as BERT does
    pooler: Literal["tanh", "relu"] | None = None  # one more layer after pooling, with this activation (BERT)
    n_classes: Annotated[int, Field(ge=2, le=10_000)] | None = None
    head: Literal["masked", "none"] | None = None  # of an encoder that does not classify: it predicts each piece it
    #                                                reads, after one more layer (BERT), or only reads

    pad_id: Id | None = 0  # None: a model that never saw padding (GPT-2)
    unk_id: Id | None = 1
    bos_id: Id | None = 2
    eos_id: Id | None = 3
    start_id: Id = 2  # what the decoder reads first
    banned_ids: Annotated[tuple[Id, ...], Field(max_length=1_000)] = ()  # never chosen when decoding (Marian's padding)

    @property
    def width(self) -> int:
        """Width of one head."""
        return self.head_dim or self.d_model // self.n_heads

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The attention kinds this model has, of "encoder", "decoder" and "cross"."""
        return tuple(kind for kind in KINDS if self.layers(kind))

    @property
    def stacks(self) -> dict[str, int]:
        """The stacks this model has, of "encoder" and "decoder", with their layers."""
        return {stack: self.layers(stack) for stack in ("encoder", "decoder") if self.layers(stack)}

    @property
    def task(self) -> Task:
        """What the model is for; `transformer.task.TASKS` says what follows from it."""
        if self.decoder_layers:
            return "translation" if self.encoder_layers else "text"
        return "reads" if self.head else "classes"

    @property
    def guessing_loss(self) -> float | None:
        """The loss in nats of guessing at random among all answers, tokens or classes, ln of how many there are; None
        for an encoder that predicts nothing."""
        if self.head == "none":
            return None
        return log(self.n_classes or self.vocab_size)  # classes only where these are the answers

    def layers(self, kind: Kind) -> int:
        """How many layers have an attention kind; 0 for one that this model has not."""
        if kind == "cross" and not self.encoder_layers:
            return 0
        return self.encoder_layers if kind == "encoder" else self.decoder_layers

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.head_dim is None and self.d_model % self.n_heads:
            raise ValueError(f"d_model {self.d_model} does not divide by n_heads {self.n_heads}; "
                             "change one, or give head_dim")
        if not self.encoder_layers and not self.decoder_layers:
            raise ValueError("encoder_layers and decoder_layers are both 0; at least one stack is needed")
        if not self.decoder_layers and not self.head and (self.pooling is None or self.n_classes is None):
            raise ValueError("an encoder alone needs pooling (max, mean or first) and n_classes, or a head")
        if self.head and (self.decoder_layers or self.n_classes):
            raise ValueError(f"head {self.head} is for an encoder alone without n_classes; leave one of them out")
        if self.pooler and not self.pooling:
            raise ValueError(f"pooler {self.pooler} comes after pooling; set pooling, or leave it out")
        if self.positions == "rotary" and self.width % 2:
            raise ValueError(f"rotary positions turn pairs, and a head of {self.width} is odd; choose an even head_dim")
        if self.tie_embeddings and self.src_vocab_size not in (None, self.vocab_size):
            raise ValueError(f"tie_embeddings needs one vocabulary, not {self.src_vocab_size} and {self.vocab_size} "
                             "pieces; set tie_embeddings=false or leave src_vocab_size out")
        for name in ("pad_id", "unk_id", "bos_id", "eos_id", "start_id"):
            if (value := getattr(self, name)) is not None and value >= self.vocab_size:
                raise ValueError(f"{name} {value} is outside the vocabulary of {self.vocab_size}")
        if outside := [id for id in self.banned_ids if id >= self.vocab_size]:
            raise ValueError(f"banned_ids {outside[0]} is outside the vocabulary of {self.vocab_size}")
        if self.pad_id is None and self.encoder_layers and self.decoder_layers:
            raise ValueError("an encoder-decoder needs pad_id, to translate many sentences at once")
        return self


class TrainConfig(Config):
    """What is learned, from what, and how."""

    task: Literal["translation", "language-model", "classification"] = "translation"
    corpus: str = "eng-fra"
    languages: tuple[str, str] | None = None  # of sources and translations; None: as the corpus says, if it does
    tokenizer: Literal["unigram", "bpe", "char", "word"] = "unigram"
    word_dropout: Fraction = 0.0  # share of a text's pieces read as unknown while a classifier trains
    standardise: bool = False  # lower-case and strip punctuation before the tokenizer
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1

    steps: Annotated[int, Field(ge=1, le=100_000_000)] = 10_000
    batch_tokens: Annotated[int, Field(ge=1, le=4_000_000)] = 3_000  # positions read at once, padding included
    micro_tokens: Annotated[int, Field(ge=1, le=4_000_000)] | None = None  # of these in one piece; None: as many
    #                                                                        as the memory there is allows
    accumulate: Annotated[int, Field(ge=1, le=1_024)] = 1  # batches a step
    optimizer: Literal["adam", "adamw", "muon", "rmsprop"] = "adamw"
    lr: Annotated[float, Field(gt=0.0, le=10.0)] = 2e-3
    betas: tuple[Fraction, Fraction] = (0.9, 0.98)
    eps: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-9
    weight_decay: Annotated[float, Field(ge=0.0, le=10.0)] = 0.01
    schedule: Literal["cosine", "inverse_sqrt", "linear", "plateau", "constant"] = "cosine"
    warmup: Annotated[int, Field(ge=0, le=10_000_000)] = 400
    final_lr: Fraction = 0.0  # the share of lr that cosine and linear end at
    plateau_factor: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.1
    plateau_patience: Annotated[int, Field(ge=1, le=1_000)] = 3  # evaluations without a better loss
    early_stopping: Annotated[int, Field(ge=1, le=1_000)] | None = None  # the same, until the run ends
    label_smoothing: Fraction = 0.1
    clip: Annotated[float, Field(gt=0.0, le=1e6)] | None = 1.0  # gradient norm
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # auto: bfloat16 on CUDA devices that have it
    compile: bool | None = None  # by torch.compile; None: on CUDA, where it gains
    tensorboard: bool = False  # metrics as TensorBoard events too
    pinned: tuple[str, ...] = ()  # the user's own texts to record attention on; a translation follows after a tab
    eval_every: Annotated[int, Field(ge=1)] = 500
    save_every: Annotated[int, Field(ge=1)] = 500

    @model_validator(mode="after")
    def _are_named(self) -> Self:
        for name in self.languages or ():
            if not name.strip():
                raise ValueError("a language is empty; name both, or leave them out")
            if len(name) > LONGEST_LANGUAGE:
                raise ValueError(f"a language has {len(name):,} characters, at most {LONGEST_LANGUAGE}; shorten it")
        if self.languages and self.task != "translation":
            raise ValueError(f"languages are those of a translation, and this learns {self.task}; leave them out")
        return self

    @model_validator(mode="after")
    def _can_be_pinned(self) -> Self:
        if len(self.pinned) > MOST_PINNED:
            raise ValueError(f"{len(self.pinned)} pinned texts, at most {MOST_PINNED}; leave some out")
        for place, text in enumerate(self.pinned, start=1):
            if not text.strip():
                raise ValueError(f"pinned text {place} is empty; type one or leave it out")
            if len(text) > LONGEST_PINNED:
                raise ValueError(f"pinned text {place} has {len(text):,} characters, at most {LONGEST_PINNED}; "
                                 "shorten it")
            if self.task == "translation" and not all(part.strip() for part in text.split("\t", 1)):
                raise ValueError(f"pinned text {place} has nothing on one side of its tab; write `source TAB target`, "
                                 "or the source alone")
        return self


class RunConfig(Config):
    """One run: a model and its training."""

    model: ModelConfig
    train: TrainConfig

    def set(self, settings: dict[str, object]) -> Self:
        """A checked copy with settings such as {"d_model": 16, "lr": 1e-3}; raises ValueError for an unknown name."""
        model = {k: v for k, v in settings.items() if k in ModelConfig.model_fields}
        train = {k: v for k, v in settings.items() if k in TrainConfig.model_fields}
        if unknown := settings.keys() - model.keys() - train.keys():
            known = ", ".join(sorted({*ModelConfig.model_fields, *TrainConfig.model_fields}))
            raise ValueError(f"unknown setting {', '.join(sorted(unknown))}; known are {known}")
        return type(self)(model=self.model.replace(**model), train=self.train.replace(**train))


def read_settings(pairs: list[str]) -> dict[str, object]:
    """["d_model=16", "norm=post"] as values for `RunConfig.set`; raises ValueError for one without '='."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair!r} has no '='; write --set key=value")
        try:
            found[key] = orjson.loads(value)
        except orjson.JSONDecodeError:
            found[key] = value
    return found
