"""What a model is and how it is trained, as checked values that go to JSON and back."""

from collections.abc import Iterator
from math import log, sqrt
from typing import Annotated, Literal, Self, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

Kind = Literal["encoder", "decoder", "cross"]  # of attention
KINDS: tuple[Kind, ...] = get_args(Kind)
Task = Literal["translation", "text", "classes", "reads"]  # reads: an encoder without classes
Part = Literal["q", "k", "v", "out", "up", "down", "norm", "head"]  # parts of a model that can have a bias
PARTS: tuple[Part, ...] = get_args(Part)
Precision = Literal["float32", "float16", "bfloat16"]  # of weights in a file or in memory
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
NormKind = Literal["layer", "rms", "scale"]  # each is a class of `transformer.model.norms`
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
Factor = Annotated[float, Field(ge=1e-6, le=1e6)]
Size = Annotated[int, Field(ge=1, le=262_144)]
Length = Annotated[int, Field(ge=1, le=16_777_216)]  # in tokens
Layers = Annotated[int, Field(ge=0, le=128)]
Heads = Annotated[int, Field(ge=1, le=128)]
Vocabulary = Annotated[int, Field(ge=1, le=1_000_000)]
Id = Annotated[int, Field(ge=0, le=1_000_000)]
LayerNumbers = Annotated[tuple[Annotated[int, Field(ge=0, lt=128)], ...], Field(max_length=128)]
PairFactors = Annotated[tuple[Factor, ...], Field(max_length=2048)]
MOST_PINNED, LONGEST_PINNED = 4, 500  # texts, and characters of one
LONGEST_LANGUAGE = 40  # characters of its name


class Config(BaseModel, frozen=True):
    """A frozen set of checked values; an unknown name is refused, not ignored."""

    model_config = ConfigDict(extra="forbid")

    def replace(self, **changes: object) -> Self:
        """A checked copy with some values changed; raises pydantic's ValidationError (a ValueError)."""
        return type(self).model_validate({**self.model_dump(), **changes})


class Rotary(Config, frozen=True):
    """How rotary positions turn the features of a head, and how the angles are scaled for texts longer than those of
    the training. Su et al. 2021; `transformer.model.rotary` has the scalings."""

    base: Annotated[float, Field(ge=1.0, le=1e12)] = 10_000.0
    # How many features of each head are turned; None: all. If the number is odd, so many and the next one, by the
    # rates of the odd number.
    dim: Annotated[int, Field(ge=2, le=4096)] | None = None
    layout: Literal["halves", "interleaved"] = "halves"  # features i and i + D/2 are a pair, or 2i and 2i + 1
    scaling: Literal["linear", "dynamic", "llama3", "yarn", "longrope"] | None = None
    factor: Factor = 1.0  # how many times longer texts may be than those of the training
    learned_len: Length | None = None  # tokens of the longest text of the training
    attention_factor: Annotated[float, Field(gt=0.0, le=100.0)] = 1.0  # turned queries and keys are multiplied by it
    # llama3: waves longer than learned_len / low_freq_factor are stretched by the whole factor, waves shorter than
    # learned_len / high_freq_factor are not stretched.
    low_freq_factor: Factor = 1.0
    high_freq_factor: Factor = 4.0
    # yarn: pairs that turn more often than beta_fast in learned_len tokens are not stretched, pairs that turn less
    # often than beta_slow are stretched by the whole factor; truncate: both limits are rounded to whole pairs.
    beta_fast: Factor = 32.0
    beta_slow: Factor = 1.0
    truncate: bool = True
    # longrope: a factor for each pair, in texts of up to learned_len tokens and in longer ones.
    short_factors: PairFactors = ()
    long_factors: PairFactors = ()

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.scaling in ("dynamic", "llama3", "yarn", "longrope") and self.learned_len is None:
            raise ValueError(f"{self.scaling} scaling of rotary positions needs learned_len")
        if self.scaling == "yarn" and self.base <= 1:
            raise ValueError("yarn scaling of rotary positions needs a base above 1")
        if self.scaling == "llama3" and self.low_freq_factor >= self.high_freq_factor:
            raise ValueError(f"llama3 scaling needs low_freq_factor below high_freq_factor, not "
                             f"{self.low_freq_factor:g} and {self.high_freq_factor:g}")
        return self


class ModelConfig(Config, frozen=True):
    """The architecture. With encoder and decoder layers it translates, with only a decoder it writes, with only an
    encoder it classifies, fills in masked pieces (BERT), or only reads.

    >>> config = transformer.ModelConfig(vocab_size=256, encoder_layers=0, decoder_layers=2, n_heads=4)
    >>> config.kinds, config.width
    (('decoder',), 32)
    """

    # Sizes
    d_model: Size = 128  # width of a row: the vector of one token between layers
    n_heads: Heads = 4
    head_dim: Annotated[int, Field(ge=1, le=4096)] | None = None  # None: d_model / n_heads
    kv_heads: Heads | None = None  # heads of keys and values, shared by groups (Ainslie et al. 2023); None: n_heads
    encoder_layers: Layers = 2
    decoder_layers: Layers = 2
    # Inner width of the feed-forward part; 0: none, attention alone (Elhage et al. 2021).
    d_ff: Annotated[int, Field(ge=0, le=262_144)] = 512
    vocab_size: Vocabulary = 8_000
    src_vocab_size: Vocabulary | None = None  # None: one vocabulary for both sides
    max_len: Length = 128  # tokens of the longest text

    # Dropout
    dropout: Fraction = 0.1
    attention_dropout: Fraction | None = None  # of the attention weights; None: as dropout
    output_dropout: Fraction = 0.0  # before the output projection

    # Layers
    # Where the norms of a layer stand: before each part; after its sum; before it and behind what it computes
    # (Gemma 2); behind what it computes alone (OLMo 2).
    norm_position: Literal["pre", "post", "both", "output"] = "pre"
    norm_kind: NormKind = "layer"
    norm_eps: Annotated[float, Field(ge=1e-12, le=0.1)] = 1e-5  # above 0, or a row of zeros would become NaN
    first_norm: bool = True  # False: no norm before the attention of the first layer (ModernBERT)
    final_norm: bool = True  # False: no norm after the last layer; with "post" there never is one
    parallel: Literal["one", "two"] | None = None  # attention and feed-forward read the same rows, by one norm or two
    shared_layers: bool = False  # all layers of a stack are the same one (ALBERT)
    biases: tuple[Part, ...] = PARTS  # the linear maps and norms that have a bias
    activation: Activation = "relu"
    gated: bool = False  # the feed-forward part multiplies its activated rows by others (Shazeer 2020)
    residual_scale: Factor = 1.0  # multiplies the output of each part before it is added
    init: Literal["xavier_uniform", "normal"] = "xavier_uniform"

    # Attention
    # Norms of queries and keys: of each head with the same weights, of each head with its own, or of all heads as one
    # row.
    qk_norm: Literal["head", "heads", "row"] | None = None
    qk_norm_kind: Literal["layer", "rms"] = "rms"
    attention_scale: Factor | None = None  # multiplies q.k; None: 1 / sqrt(head_dim)
    qkv_clip: Factor | None = None  # largest absolute value of projected queries, keys and values (MPT)
    score_cap: Factor | None = None  # scores become cap * tanh(score / cap) (Gemma 2)
    window: Length | None = None  # tokens that a query sees, itself included (of an encoder, on each side); None: all
    window_layers: LayerNumbers | None = None  # the layers that have the window; None: all

    # Positions
    positions: Literal["sinusoidal", "learned", "rotary", "alibi", "relative", "disentangled", "none"] = "sinusoidal"
    sinusoid_layout: Literal["interleaved", "halves", "fairseq"] = "interleaved"
    rotary: Rotary = Rotary()
    window_rotary: Rotary | None = None  # of the layers that have a window; None: as rotary
    relative_buckets: Annotated[int, Field(ge=2, le=4096)] = 32  # each is a range of distances with learned numbers
    relative_distance: Annotated[int, Field(ge=2, le=1_000_000)] = 128  # from here on distances share the last bucket
    alibi_max: Factor = 8.0  # the slope of head 0 is 2 ** (-alibi_max / n_heads)
    alibi_scale: Factor = 1.0  # multiplies all slopes
    alibi_rounded: bool = False  # positions times slopes are rounded to bfloat16 first (Falcon)

    # Embeddings
    embedding_dim: Size | None = None  # width of embeddings that are projected to d_model; None: d_model, no projection
    embedding_norm: bool = False
    embedding_scale: bool | Factor = True  # multiplies embeddings: True by sqrt(d_model), or a number
    widen_first: bool = False  # embeddings are projected before positions are added to them (OPT)
    type_vocab: Annotated[int, Field(ge=0, le=16)] = 0  # segment embeddings (BERT); 0: none
    tie_embeddings: bool = True  # source, target and output share one matrix

    # Output
    logits_bias: bool = False
    logits_scale: Factor = 1.0
    logits_cap: Factor | None = None  # logits become cap * tanh(logit / cap) (Gemma 2)
    pooling: Literal["max", "mean", "first"] | None = None  # "first": the row of the first token (BERT)
    pooler: Literal["tanh", "relu", "gelu", "gelu_tanh", "silu"] | None = None  # activation of one more layer after
    #                                                                             pooling (BERT); None: no such layer
    pooler_norm: bool = False  # a norm after that layer (ModernBERT)
    n_classes: Annotated[int, Field(ge=2, le=10_000)] | None = None
    # Of an encoder without classes: "masked" predicts every piece it reads, after one more layer (BERT); "none" only
    # reads.
    head: Literal["masked", "none"] | None = None
    head_activation: Activation | None = None  # of the layer of a masked head; None: as activation

    # Tokens
    pad_id: Id | None = 0  # None: a model that never saw padding (GPT-2)
    unk_id: Id | None = 1
    bos_id: Id | None = 2
    eos_id: Id | None = 3
    end_ids: Annotated[tuple[Id, ...], Field(max_length=100)] = ()  # others that end a text, beside eos_id
    start_id: Id = 2  # the first token that the decoder reads
    forced_bos_id: Id | None = None  # the first that it writes, whatever it predicts: the target language (mBART, NLLB)
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
        """The number that multiplies embeddings."""
        scale = self.embedding_scale
        return scale if not isinstance(scale, bool) else sqrt(self.d_model) if scale else 1.0

    def ends(self, id: int) -> bool:
        """Whether a token ends a text."""
        return id == self.eos_id or id in self.end_ids

    def has_window(self, layer: int) -> bool:
        """Whether the self-attention of a layer sees a window only."""
        return self.window is not None and (self.window_layers is None or layer in self.window_layers)

    def rotary_of(self, layer: int) -> Rotary:
        """How rotary positions turn queries and keys of a layer."""
        return self.window_rotary if self.window_rotary is not None and self.has_window(layer) else self.rotary

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The attention kinds this model has, of "encoder", "decoder" and "cross"."""
        return tuple(kind for kind in KINDS if self.layers(kind))

    @property
    def stacks(self) -> dict[Kind, int]:
        """The stacks this model has, of "encoder" and "decoder", with their numbers of layers."""
        return {stack: self.layers(stack) for stack in KINDS[:2] if self.layers(stack)}

    @property
    def task(self) -> Task:
        """What the model is for; `transformer.settings.task.TASKS` says what follows from it."""
        if self.decoder_layers:
            return "translation" if self.encoder_layers else "text"
        return "reads" if self.head else "classes"

    @property
    def guessing_loss(self) -> float | None:
        """Loss in nats of a uniform guess: ln of the number of classes or tokens; None for an encoder that predicts
        nothing."""
        if self.head == "none":
            return None
        return log(self.n_classes or self.vocab_size)

    def layers(self, kind: Kind) -> int:
        """How many layers have an attention kind; 0 if the model does not have it."""
        if kind == "cross" and not self.encoder_layers:
            return 0
        return self.encoder_layers if kind == "encoder" else self.decoder_layers

    @model_validator(mode="after")
    def _follows_its_rules(self) -> Self:
        for rules in (_shape_rules, _rotary_rules, _token_rules):
            for is_broken, sentence in rules(self):
                if is_broken:
                    raise ValueError(sentence)
        return self


Rules = Iterator[tuple[bool, str]]  # whether a rule is broken, and the sentence that says what to do


def _shape_rules(config: ModelConfig) -> Rules:
    translates = bool(config.encoder_layers and config.decoder_layers)
    reads = not config.decoder_layers
    yield (config.head_dim is None and config.d_model % config.n_heads > 0,
           f"d_model {config.d_model} does not divide by n_heads {config.n_heads}; change one, or give head_dim")
    yield (config.n_heads % config.groups > 0,
           f"n_heads {config.n_heads} does not divide by kv_heads {config.kv_heads}; change one")
    yield (not config.stacks, "encoder_layers and decoder_layers are both 0; at least one stack is needed")
    yield (reads and not config.head and (config.pooling is None or config.n_classes is None),
           "an encoder alone needs pooling (max, mean or first) and n_classes, or a head")
    yield (config.head is not None and bool(config.decoder_layers or config.n_classes),
           f"head {config.head} is for an encoder alone without n_classes; leave one of them out")
    yield (config.pooler is not None and config.pooling is None,
           f"pooler {config.pooler} comes after pooling; set pooling, or leave it out")
    yield (config.parallel is not None and (config.norm_position not in ("pre", "both") or translates),
           "parallel attention and feed-forward need pre-norm, and a stack without cross-attention")
    yield (config.parallel is not None and not config.d_ff,
           "parallel attention and feed-forward need both parts; set d_ff to 1 or more, or leave parallel out")
    yield (config.tie_embeddings and config.src_vocab_size not in (None, config.vocab_size),
           f"tie_embeddings needs one vocabulary, not {config.src_vocab_size} and {config.vocab_size} pieces; set "
           "tie_embeddings=false or leave src_vocab_size out")


def _rotary_rules(config: ModelConfig) -> Rules:
    width = config.width
    for rotary in filter(None, (config.rotary, config.window_rotary)) if config.positions == "rotary" else ():
        turned = rotary.dim or width
        needs_pairs = rotary.layout == "interleaved" or rotary.scaling in ("yarn", "longrope")
        yield turned > width, f"rotary positions turn {turned} features, but a head has only {width}"
        yield (turned == width and turned % 2 > 0,
               f"rotary positions turn pairs of features, but a head has {turned}; choose an even head_dim")
        yield (needs_pairs and turned % 2 > 0,
               f"rotary positions turn pairs of features, but {turned} of {width} are turned; choose an even dim of "
               "rotary")
        yield (rotary.scaling == "longrope"
               and not len(rotary.short_factors) == len(rotary.long_factors) == turned // 2,
               f"longrope scaling needs {turned // 2} short_factors and long_factors, one of each for each pair")


def _token_rules(config: ModelConfig) -> Rules:
    ids = [(name, getattr(config, name)) for name in
           ("pad_id", "unk_id", "bos_id", "eos_id", "start_id", "forced_bos_id")]
    ids += [(name, id) for name in ("banned_ids", "end_ids") for id in getattr(config, name)]
    for name, id in ids:
        yield (id is not None and id >= config.vocab_size,
               f"{name} {id} is outside the vocabulary of {config.vocab_size}")
    yield (config.pad_id is None and config.task == "translation",
           "an encoder-decoder needs pad_id, to translate many sentences at once")


AUGMENTATION = ("subword_sampling", "as_typed", "joined", "other_names")  # settings of transformer/text/augmentation.py


class TrainConfig(Config, frozen=True):
    """What is learned, from what, and how."""

    # Data
    task: Literal["translation", "language-model", "classification"] = "translation"
    corpus: str = "eng-fra"
    languages: tuple[str, str] | None = None  # of sources and translations; None: as the corpus says, if it does
    tokenizer: Literal["unigram", "bpe", "char", "word"] = "unigram"
    word_dropout: Fraction = 0.0  # share of a text's pieces read as unknown while a classifier trains
    standardise: bool = False  # lower-case and strip punctuation before the tokenizer
    # Of a translation's training pairs, drawn anew in every epoch (transformer/text/augmentation.py):
    subword_sampling: Annotated[float, Field(gt=0.0, le=1.0)] | None = None  # cut into pieces at random: of unigram
    #                     pieces the power of a way's probability, of bpe the share of merges left out; None: the best
    as_typed: Fraction = 0.0  # share in lower case, without their last mark, or both
    joined: Fraction = 0.0  # share with one or two other pairs after them
    other_names: Fraction = 0.0  # share, of those with a name on both sides, with another name there
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1

    # Batches
    steps: Annotated[int, Field(ge=1, le=100_000_000)] = 10_000
    batch_tokens: Annotated[int, Field(ge=1, le=4_000_000)] = 3_000  # positions in a batch, padding included
    # Positions of a batch that are read at once; None: as many as memory allows.
    micro_tokens: Annotated[int, Field(ge=1, le=4_000_000)] | None = None
    accumulate: Annotated[int, Field(ge=1, le=1_024)] = 1  # batches a step

    # Optimizer and its learning rate
    optimizer: Literal["adam", "adamw", "muon", "rmsprop"] = "adamw"
    lr: Annotated[float, Field(gt=0.0, le=10.0)] = 2e-3
    betas: tuple[Fraction, Fraction] = (0.9, 0.98)
    eps: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-9
    weight_decay: Annotated[float, Field(ge=0.0, le=10.0)] = 0.01
    schedule: Literal["cosine", "inverse_sqrt", "linear", "plateau", "constant"] = "cosine"
    warmup: Annotated[int, Field(ge=0, le=10_000_000)] = 400  # steps until the rate reaches lr
    hold: Fraction = 0.0  # share of the steps after warm-up at which cosine and linear stay at lr
    final_lr: Fraction = 0.0  # the share of lr that cosine and linear end at
    plateau_factor: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.1  # multiplies the rate at a plateau
    plateau_patience: Annotated[int, Field(ge=1, le=1_000)] = 3  # evaluations without a better loss before that
    early_stopping: Annotated[int, Field(ge=1, le=1_000)] | None = None  # evaluations without a better loss until the
    #                                                                      run ends; None: it does not end early
    label_smoothing: Fraction = 0.1
    clip: Annotated[float, Field(gt=0.0, le=1e6)] | None = 1.0  # largest gradient norm
    ema: Fraction = 0.0  # decay of the average of the weights, which is then what is measured and saved; 0: none
    r_drop: Annotated[float, Field(ge=0.0, le=100.0)] = 0.0  # weight of the divergence between two passes of a batch,
    #                                                          each with its own dropout (Wu et al. 2021); 0: one pass
    distill: tuple[str, ...] = ()  # folders of checkpoints, whose mean probabilities are learned beside the labels
    distill_share: Fraction = 0.5  # of the loss, that is against those probabilities (Hinton et al. 2015)
    start_from: str | None = None  # folder of a checkpoint with whose weights and tokenizer the run starts

    # Device
    precision: Literal["auto", "float32", "bfloat16"] = "auto"  # auto: bfloat16 on CUDA devices that have it
    compile: bool | None = None  # by torch.compile; None: on CUDA, for windows of one length

    # Records
    tensorboard: bool = False  # metrics as TensorBoard events too
    pinned: tuple[str, ...] = ()  # the user's own texts to record attention on; a translation follows after a tab
    eval_every: Annotated[int, Field(ge=1)] = 500  # steps
    save_every: Annotated[int, Field(ge=1)] = 500  # steps

    @property
    def passes(self) -> int:
        """How often a batch is read in each step."""
        return 2 if self.r_drop else 1

    @model_validator(mode="after")
    def _can_be_augmented(self) -> Self:
        if self.subword_sampling is not None and self.tokenizer not in ("unigram", "bpe"):
            raise ValueError(f"subword_sampling cuts unigram or bpe pieces, and the tokenizer is {self.tokenizer}; "
                             "choose one of these, or leave it out")
        if self.task != "translation":
            for name in AUGMENTATION:
                if getattr(self, name):
                    raise ValueError(f"{name} changes pairs of a translation, and this task is {self.task}; leave it "
                                     "out")
        return self

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


class RunConfig(Config, frozen=True):
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
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair!r} has no '='; write --set key=value")
        try:
            settings[key] = orjson.loads(value)
        except orjson.JSONDecodeError:
            settings[key] = value
    return settings
