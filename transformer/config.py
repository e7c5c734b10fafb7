"""What a model is and how it is trained, as checked values that go to JSON and back."""

from math import log, sqrt
from typing import Annotated, Literal, Self, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

Kind = Literal["encoder", "decoder", "cross"]  # of attention
KINDS: tuple[Kind, ...] = get_args(Kind)
Task = Literal["translation", "text", "classes", "reads"]  # reads: an encoder that has no classes
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
Size = Annotated[int, Field(ge=1, le=262_144)]
Length = Annotated[int, Field(ge=1, le=16_777_216)]  # in tokens
Layers = Annotated[int, Field(ge=0, le=128)]
Part = Literal["q", "k", "v", "out", "up", "down", "norm", "head"]  # of a layer, or the one before a masked piece
PARTS: tuple[Part, ...] = get_args(Part)
Precision = Literal["float32", "float16", "bfloat16"]  # of weights in a file or in memory
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
Factor = Annotated[float, Field(ge=1e-6, le=1e6)]
MOST_PINNED, LONGEST_PINNED = 4, 500  # texts, and characters of one
LONGEST_LANGUAGE = 40  # characters of its name
Id = Annotated[int, Field(ge=0, le=1_000_000)]


class Config(BaseModel):
    """Frozen, and a key that is not known is refused rather than ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def replace(self, **changes: object) -> Self:
        """A checked copy with some values changed; raises pydantic's ValidationError (a ValueError)."""
        return type(self).model_validate({**self.model_dump(), **changes})


class Rotary(Config):
    """How rotary positions turn the features of a head, and how that is stretched to texts longer than those learned
    from. Su et al. 2021; see `transformer.model.rotary` for the scalings."""

    base: Annotated[float, Field(ge=1.0, le=1e12)] = 10_000.0
    dim: Annotated[int, Field(ge=2, le=4096)] | None = None  # so many features of each head are turned; None: all. Of
    #                                                          an odd number the next one too, by rates of the odd one
    layout: Literal["halves", "interleaved"] = "halves"  # which two features are a pair: i and i + D/2, or 2i and 2i+1
    scaling: Literal["linear", "dynamic", "llama3", "yarn", "longrope"] | None = None
    factor: Factor = 1.0  # by how much texts are longer than those learned from
    learned_len: Length | None = None  # tokens of the longest text that was learned from
    low: Factor = 1.0  # llama3: waves longer than learned_len / low are stretched by all of the factor,
    high: Factor = 4.0  # those shorter than learned_len / high not at all
    fast: Factor = 32.0  # yarn: pairs that turn more often than so in learned_len tokens are left alone,
    slow: Factor = 1.0  # those that turn less often than so are stretched by all of the factor
    rounded: bool = True  # yarn: these two borders lie at whole pairs
    strength: Annotated[float, Field(gt=0.0, le=100.0)] = 1.0  # what turned queries and keys are multiplied by
    short: Annotated[tuple[Factor, ...], Field(max_length=2048)] = ()  # longrope: of each pair, up to learned_len,
    long: Annotated[tuple[Factor, ...], Field(max_length=2048)] = ()  # and in longer texts

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.scaling in ("dynamic", "llama3", "yarn", "longrope") and self.learned_len is None:
            raise ValueError(f"{self.scaling} scaling of rotary positions needs learned_len")
        if self.scaling == "yarn" and self.base <= 1:
            raise ValueError("yarn scaling of rotary positions needs a base above 1")
        if self.scaling == "llama3" and self.low >= self.high:
            raise ValueError(f"llama3 scaling needs low below high, not {self.low:g} and {self.high:g}")
        return self


class ModelConfig(Config):
    """The architecture. With encoder and decoder layers it translates, with only a decoder it writes, with only an
    encoder it classifies, fills in masked pieces (BERT), or does nothing but read."""

    d_model: Size = 128
    n_heads: Annotated[int, Field(ge=1, le=128)] = 4
    head_dim: Annotated[int, Field(ge=1, le=4096)] | None = None  # None: d_model / n_heads
    kv_heads: Annotated[int, Field(ge=1, le=128)] | None = None  # heads of keys and values, each serving as many heads
    #                                                              of queries (Ainslie et al. 2023); None: one each
    encoder_layers: Layers = 2
    decoder_layers: Layers = 2
    d_ff: Size = 512
    vocab_size: Annotated[int, Field(ge=1, le=1_000_000)] = 8_000
    src_vocab_size: Annotated[int, Field(ge=1, le=1_000_000)] | None = None  # None: one vocabulary for both sides
    max_len: Length = 128

    dropout: Fraction = 0.1
    attention_dropout: Fraction | None = None  # of the attention weights; None: the same as dropout
    output_dropout: Fraction = 0.0  # before the output projection
    norm_position: Literal["pre", "post", "both", "output"] = "pre"  # of what goes into a part, of the sum after it, of
    #                                           what goes in and what comes out (Gemma 2), or of what comes out (OLMo 2)
    norm_kind: Literal["layer", "rms", "scale"] = "layer"
    norm_eps: Annotated[float, Field(ge=1e-12, le=0.1)] = 1e-5  # 0 would make a row of zeros no number
    first_norm: bool = True  # False: the first layer's attention reads its input as it is (ModernBERT)
    final_norm: bool = True  # False: none after the last layer, although none of its sums are normalised
    qk_norm: Literal["head", "heads", "row"] | None = None  # of queries and keys: each head's, by one set of weights or
    #                                                         by its own, or all heads' as one row
    qk_norm_kind: Literal["layer", "rms"] = "rms"
    parallel: Literal["one", "two"] | None = None  # attention and feed-forward read the same rows, by one norm or two
    shared_layers: bool = False  # all layers of a stack are one (ALBERT)
    biases: tuple[Part, ...] = PARTS  # which linear maps and norms have one
    positions: Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "disentangled", "none"] = "sinusoidal"
    sinusoid_layout: Literal["interleaved", "halves", "fairseq"] = "interleaved"
    rotary: Rotary = Rotary()
    window_rotary: Rotary | None = None  # of the layers with a window; None: the same
    relative_buckets: Annotated[int, Field(ge=2, le=4096)] = 32  # of distances, one learned number or vector for each
    relative_distance: Annotated[int, Field(ge=2, le=1_000_000)] = 128  # all that is further away shares a bucket
    alibi_max: Factor = 8.0  # the steepest slope, of head 0, is 2 to minus this over the number of heads
    alibi_scale: Factor = 1.0  # what the slopes are multiplied by
    alibi_rounded: bool = False  # each place times the slope is rounded to bfloat16 before that (Falcon)
    window: Length | None = None  # how far back a token sees, itself included (an encoder's: to both sides); None: all
    windowed: Annotated[tuple[Annotated[int, Field(ge=0, lt=128)], ...], Field(max_length=128)] | None = None  # which
    #                                                                                     layers have it; None: all
    attention_scale: Factor | None = None  # what q.k is multiplied by; None: 1 / sqrt of a head's width
    qkv_clip: Factor | None = None  # queries, keys and values lie no further from 0, as they are projected (MPT)
    score_cap: Factor | None = None  # scores become cap * tanh(score / cap); logits_cap: logits
    logits_cap: Factor | None = None
    residual_scale: Factor = 1.0  # what each part's output is multiplied by before it is added
    logits_scale: Factor = 1.0
    activation: Activation = "relu"
    gated: bool = False  # the feed-forward part multiplies its activated rows with others (Shazeer 2020)
    embedding_norm: bool = False
    embedding_scale: bool | Factor = True  # multiply embeddings by sqrt(d_model), or by a number
    embedding_dim: Size | None = None  # of embeddings that are then projected to d_model; None: not projected
    widen_first: bool = False  # they are projected before positions are added to them (OPT)
    type_vocab: Annotated[int, Field(ge=0, le=16)] = 0  # segment embeddings (BERT); 0: none
    tie_embeddings: bool = True  # source, target and output share one matrix
    logits_bias: bool = False
    init: Literal["xavier_uniform", "normal"] = "xavier_uniform"
    pooling: Literal["max", "mean", "first"] | None = None  # "first": the first token's row alone, as BERT does
    pooler: Literal["tanh", "relu", "gelu", "gelu_tanh", "silu"] | None = None  # one more layer after pooling, with
    #                                                                             this activation (BERT)
    pooler_norm: bool = False  # and a norm after that (ModernBERT)
    n_classes: Annotated[int, Field(ge=2, le=10_000)] | None = None
    head: Literal["masked", "none"] | None = None  # of an encoder that does not classify: it predicts each piece it
    #                                                reads, after one more layer (BERT), or only reads
    head_activation: Activation | None = None  # of that layer; None: the same as in the others

    pad_id: Id | None = 0  # None: a model that never saw padding (GPT-2)
    unk_id: Id | None = 1
    bos_id: Id | None = 2
    eos_id: Id | None = 3
    end_ids: Annotated[tuple[Id, ...], Field(max_length=100)] = ()  # others that end a text, beside eos_id
    start_id: Id = 2  # what the decoder reads first
    forced_bos_id: Id | None = None  # what it is made to write first: the language to translate into (mBART, NLLB)
    banned_ids: Annotated[tuple[Id, ...], Field(max_length=1_000)] = ()  # never chosen when decoding (Marian's padding)

    @property
    def width(self) -> int:
        """Width of one head."""
        return self.head_dim or self.d_model // self.n_heads

    @property
    def groups(self) -> int:
        """Heads of keys and values."""
        return self.kv_heads or self.n_heads

    @property
    def embedding_factor(self) -> float:
        """What embeddings are multiplied by."""
        scale = self.embedding_scale
        return scale if not isinstance(scale, bool) else sqrt(self.d_model) if scale else 1.0

    def ends(self, id: int) -> bool:
        """Whether a token ends what is written."""
        return id == self.eos_id or id in self.end_ids

    def sees_far(self, layer: int) -> bool:
        """Whether the self-attention of a layer has no window."""
        return self.window is None or (self.windowed is not None and layer not in self.windowed)

    def rotary_of(self, layer: int) -> Rotary:
        """How positions turn queries and keys of a layer, where they are rotary."""
        return self.rotary if self.sees_far(layer) or self.window_rotary is None else self.window_rotary

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
        if self.n_heads % self.groups:
            raise ValueError(f"n_heads {self.n_heads} does not divide by kv_heads {self.kv_heads}; change one")
        if self.positions == "rotary":
            for rotary in filter(None, (self.rotary, self.window_rotary)):
                turned = rotary.dim or self.width
                if turned > self.width:
                    raise ValueError(f"rotary positions turn {turned} features, but a head has only {self.width}")
                if turned == self.width and turned % 2:
                    raise ValueError(f"rotary positions turn pairs of features, but a head has {turned}; choose an "
                                     "even head_dim")
                if turned % 2 and (rotary.layout == "interleaved" or rotary.scaling in ("yarn", "longrope")):
                    raise ValueError(f"rotary positions turn pairs of features, but {turned} of {self.width} are "
                                     "turned; choose an even dim of rotary")
                if rotary.scaling == "longrope" and not len(rotary.short) == len(rotary.long) == turned // 2:
                    raise ValueError(f"longrope scaling needs {turned // 2} factors, short and long, one for each pair")
        if self.parallel and (self.norm_position not in ("pre", "both")
                              or (self.encoder_layers and self.decoder_layers)):
            raise ValueError("parallel attention and feed-forward need pre-norm, and a stack without cross-attention")
        if self.tie_embeddings and self.src_vocab_size not in (None, self.vocab_size):
            raise ValueError(f"tie_embeddings needs one vocabulary, not {self.src_vocab_size} and {self.vocab_size} "
                             "pieces; set tie_embeddings=false or leave src_vocab_size out")
        for name in ("pad_id", "unk_id", "bos_id", "eos_id", "start_id", "forced_bos_id"):
            if (value := getattr(self, name)) is not None and value >= self.vocab_size:
                raise ValueError(f"{name} {value} is outside the vocabulary of {self.vocab_size}")
        for name in ("banned_ids", "end_ids"):
            if outside := [id for id in getattr(self, name) if id >= self.vocab_size]:
                raise ValueError(f"{name} {outside[0]} is outside the vocabulary of {self.vocab_size}")
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
                raise ValueError(f"a language has {len(name):,} characters; the limit is {LONGEST_LANGUAGE}. Please "
                                 "shorten it")
        if self.languages and self.task != "translation":
            raise ValueError(f"languages are only for translation, and this task is {self.task}; leave them out")
        return self

    @model_validator(mode="after")
    def _can_be_pinned(self) -> Self:
        if len(self.pinned) > MOST_PINNED:
            raise ValueError(f"{len(self.pinned)} pinned texts; the limit is {MOST_PINNED}. Please leave some out")
        for place, text in enumerate(self.pinned, start=1):
            if not text.strip():
                raise ValueError(f"pinned text {place} is empty; type one or leave it out")
            if len(text) > LONGEST_PINNED:
                raise ValueError(f"pinned text {place} has {len(text):,} characters; the limit is {LONGEST_PINNED}. "
                                 "Please shorten it")
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
    """["d_model=16", "norm_position=post"] as values for `RunConfig.set`; raises ValueError for one without '='."""
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
