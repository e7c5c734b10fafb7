"""Named configurations, each at the full size it names, and what is said of each."""

from transformer.settings.config import ModelConfig, RunConfig, TrainConfig

_PAPER = {"d_model": 512, "n_heads": 8, "encoder_layers": 6, "decoder_layers": 6, "d_ff": 2048, "vocab_size": 8_000,
          "max_len": 256, "dropout": 0.1, "activation": "relu", "positions": "sinusoidal"}
_PAPER_TRAINING = {"optimizer": "adam", "betas": (0.9, 0.98), "eps": 1e-9, "weight_decay": 0.0, "warmup": 4_000,
                   "lr": 7e-4,  # 512^-0.5 * 4000^-0.5, the peak of equation 3
                   "schedule": "inverse_sqrt", "label_smoothing": 0.1, "steps": 100_000, "batch_tokens": 25_000,
                   "tokenizer": "bpe", "clip": None}

_QUICK = {"optimizer": "muon", "lr": 1e-2, "warmup": 20, "weight_decay": 0.0, "label_smoothing": 0.0,
          "tokenizer": "char", "eval_every": 25, "save_every": 500}
_PAIRS = {"d_model": 64, "n_heads": 2, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 128, "vocab_size": 100,
          "max_len": 64, "dropout": 0.0}
_TEXT = {"d_model": 64, "n_heads": 2, "encoder_layers": 0, "decoder_layers": 2, "vocab_size": 100, "max_len": 64,
         "dropout": 0.0, "positions": "rotary", "embedding_scale": False, "tie_embeddings": False, "init": "normal"}

PRESETS: dict[str, RunConfig] = {
    # Vaswani et al. 2017, table 3, "base"
    "paper-base": RunConfig(model=ModelConfig(**_PAPER, norm_position="post"), train=TrainConfig(**_PAPER_TRAINING)),
    # the same with pre-norm and a final norm
    "annotated": RunConfig(model=ModelConfig(**_PAPER, norm_position="pre", init="xavier_uniform"),
                           train=TrainConfig(**_PAPER_TRAINING)),
    "postnorm-small": RunConfig(
        model=ModelConfig(d_model=128, n_heads=4, encoder_layers=2, decoder_layers=2, d_ff=512, vocab_size=8_000,
                          max_len=128, norm_position="post"),
        train=TrainConfig(steps=5_000, warmup=1_000, lr=1e-3, schedule="inverse_sqrt")),
    "word-level": RunConfig(
        model=ModelConfig(d_model=256, n_heads=8, encoder_layers=1, decoder_layers=1, d_ff=2048, vocab_size=20_000,
                          src_vocab_size=20_000, max_len=31, dropout=0.1, output_dropout=0.5, norm_position="post",
                          positions="learned", tie_embeddings=False, logits_bias=True, embedding_scale=False),
        train=TrainConfig(tokenizer="word", standardise=True, optimizer="rmsprop", lr=1e-3, eps=1e-7, weight_decay=0.0,
                          schedule="plateau", plateau_factor=0.1, plateau_patience=3, early_stopping=6, warmup=0,
                          label_smoothing=0.0, steps=30_000, clip=None)),
    "gpt-lab": RunConfig(
        model=ModelConfig(d_model=256, n_heads=8, encoder_layers=0, decoder_layers=6, d_ff=1024, vocab_size=100,
                          max_len=256, dropout=0.2, norm_position="post", activation="relu", positions="learned",
                          embedding_scale=False, init="normal", tie_embeddings=False, logits_bias=True),
        train=TrainConfig(task="language-model", corpus="tiny-shakespeare", tokenizer="char", steps=5_000,
                          batch_tokens=8_192, lr=5e-4, warmup=500, label_smoothing=0.0)),
    # Radford et al. 2019, the smallest one
    "gpt2": RunConfig(
        model=ModelConfig(d_model=768, n_heads=12, encoder_layers=0, decoder_layers=12, d_ff=3072, vocab_size=8_000,
                          max_len=1_024, dropout=0.1, norm_position="pre", activation="gelu_tanh", positions="learned",
                          embedding_scale=False, init="normal"),
        train=TrainConfig(task="language-model", corpus="tiny-shakespeare", tokenizer="bpe", steps=10_000,
                          batch_tokens=16_384, lr=6e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, warmup=700,
                          label_smoothing=0.0)),
    "shakespeare": RunConfig(
        model=ModelConfig(d_model=256, n_heads=8, encoder_layers=0, decoder_layers=4, d_ff=1024, vocab_size=100,
                          max_len=512, dropout=0.2, attention_dropout=0.0, norm_position="pre", activation="gelu_tanh",
                          positions="rotary", embedding_scale=False, init="normal"),
        train=TrainConfig(task="language-model", corpus="tiny-shakespeare", tokenizer="char", optimizer="muon",
                          steps=2_200, batch_tokens=8_192, lr=4e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.2,
                          warmup=100, hold=0.5, ema=0.998, label_smoothing=0.0, eval_every=100, save_every=50)),
    # Smaller, and as models are built today: Touvron et al. 2023, section 2.2; grouped heads: Ainslie et al. 2023
    "llama-small": RunConfig(
        model=ModelConfig(d_model=192, n_heads=6, kv_heads=2, encoder_layers=0, decoder_layers=4, d_ff=512,
                          vocab_size=100, max_len=256, dropout=0.1, attention_dropout=0.0, norm_position="pre",
                          norm_kind="rms", activation="silu", gated=True, biases=(), positions="rotary",
                          embedding_scale=False, init="normal"),
        train=TrainConfig(task="language-model", corpus="tiny-shakespeare", tokenizer="char", optimizer="muon",
                          steps=1_600, batch_tokens=4_096, lr=3e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1,
                          warmup=100, label_smoothing=0.0, eval_every=200, save_every=100)),
    # Raffel et al. 2020, section 2.1, with the gated feed-forward part of its version 1.1
    "t5-small": RunConfig(
        model=ModelConfig(d_model=160, n_heads=4, encoder_layers=3, decoder_layers=3, d_ff=432, vocab_size=4_000,
                          max_len=256, dropout=0.1, attention_dropout=0.0, norm_position="pre",
                          norm_kind="rms", norm_eps=1e-6, activation="gelu_tanh", gated=True, biases=(),
                          positions="relative"),
        train=TrainConfig(optimizer="muon", steps=4_000, batch_tokens=3_000, lr=5e-3, warmup=150, eval_every=200,
                          save_every=100)),
    "translate": RunConfig(
        model=ModelConfig(d_model=256, n_heads=4, encoder_layers=4, decoder_layers=2, d_ff=1024, vocab_size=8_000,
                          max_len=256, dropout=0.1, attention_dropout=0.0, norm_position="pre", positions="sinusoidal"),
        train=TrainConfig(optimizer="muon", steps=8_000, batch_tokens=4_000, lr=4e-3, weight_decay=0.1, warmup=300,
                          hold=0.7, ema=0.999, subword_sampling=0.3, as_typed=0.1, joined=0.06, other_names=0.3,
                          save_every=50)),
    "translate-small": RunConfig(
        model=ModelConfig(d_model=160, n_heads=4, encoder_layers=3, decoder_layers=3, d_ff=640, vocab_size=4_000,
                          max_len=256, dropout=0.1, attention_dropout=0.0, norm_position="pre", positions="sinusoidal"),
        train=TrainConfig(optimizer="muon", steps=4_000, batch_tokens=3_000, lr=5e-3, warmup=150, eval_every=200,
                          save_every=100)),
    # log-softmax over the classes, after max pooling over time (Collobert et al. 2011, section 3.3.2)
    "pooled-classifier": RunConfig(
        model=ModelConfig(d_model=128, n_heads=4, encoder_layers=2, decoder_layers=0, d_ff=256, vocab_size=4_000,
                          max_len=1_024, dropout=0.3, attention_dropout=0.1, norm_position="pre", positions="learned",
                          pooling="max", n_classes=10, tie_embeddings=False, output_dropout=0.3,
                          embedding_scale=False),
        train=TrainConfig(task="classification", corpus="speakers", tokenizer="word", standardise=True, steps=900,
                          batch_tokens=1_500, lr=1e-3, warmup=50, weight_decay=0.1, word_dropout=0.2,
                          label_smoothing=0.1, eval_every=20, save_every=100, early_stopping=16)),
    # the same for short sentences that word order tells apart
    "ending-classifier": RunConfig(
        model=ModelConfig(d_model=128, n_heads=4, encoder_layers=2, decoder_layers=0, d_ff=256, vocab_size=4_000,
                          max_len=64, dropout=0.3, attention_dropout=0.1, norm_position="pre", positions="learned",
                          pooling="max", n_classes=3, tie_embeddings=False, output_dropout=0.3, embedding_scale=False),
        train=TrainConfig(task="classification", corpus="endings", tokenizer="word", standardise=True, steps=800,
                          batch_tokens=1_500, lr=1e-3, warmup=50, weight_decay=0.3, word_dropout=0.2, ema=0.98,
                          label_smoothing=0.1, eval_every=50, save_every=100, early_stopping=8)),
    # the smallest run there is: two sentences, seconds
    "sentiment": RunConfig(
        model=ModelConfig(d_model=32, n_heads=2, encoder_layers=1, decoder_layers=0, d_ff=64, vocab_size=200,
                          max_len=64, dropout=0.0, norm_position="pre", positions="learned", pooling="max", n_classes=2,
                          tie_embeddings=False),
        train=TrainConfig(task="classification", corpus="sentiment", tokenizer="word", standardise=True, steps=200,
                          batch_tokens=200, lr=1e-4, warmup=20, label_smoothing=0.0, eval_every=20, save_every=200)),
    # synthetic tasks, learned in a minute on two cores
    "reverse": RunConfig(model=ModelConfig(**_PAIRS),
                         train=TrainConfig(**_QUICK, corpus="reverse", steps=500, batch_tokens=1_000)),
    "sort": RunConfig(model=ModelConfig(**_PAIRS),
                      train=TrainConfig(**_QUICK, corpus="sort", steps=500, batch_tokens=1_000)),
    "add": RunConfig(model=ModelConfig(**{**_PAIRS, "d_model": 96, "n_heads": 4, "d_ff": 384}),
                     train=TrainConfig(**{**_QUICK, "lr": 5e-3, "eval_every": 50}, corpus="add", steps=800,
                                       batch_tokens=2_000)),
    # attention alone, as in Elhage et al. 2021
    "repeat": RunConfig(model=ModelConfig(**_TEXT, d_ff=0),
                        train=TrainConfig(**_QUICK, task="language-model", corpus="repeat", steps=300,
                                          batch_tokens=2_048)),
    # without positions, by counting alone: with them a sum over the last few brackets does it, and no head looks back
    "brackets": RunConfig(model=ModelConfig(**{**_TEXT, "positions": "none"}, d_ff=128),
                          train=TrainConfig(**_QUICK, task="language-model", corpus="brackets", steps=500,
                                            batch_tokens=2_048)),
}

ABOUT = {
    "paper-base": "Attention Is All You Need, the base model: 6 + 6 layers of 512. Needs a GPU.",
    "annotated": "The same with norms before the sub-layers. Needs a GPU.",
    "postnorm-small": "Norms after the sub-layers, as in the paper, at a size for a laptop.",
    "word-level": "Whole words, lower-cased, with learned positions: the recipe of many first tutorials.",
    "translate": "The model that comes with Heads Up, without the distillation. Takes eight hours on a laptop.",
    "translate-small": "A smaller one, for full sentences as they are printed. Takes an hour or two on a laptop.",
    "gpt-lab": "A decoder with post-norm blocks and ReLU, by characters.",
    "gpt2": "The shape of the smallest GPT-2: 12 layers of 768. Needs a GPU.",
    "shakespeare": "The small GPT that comes with Heads Up. Takes two hours on a laptop.",
    "llama-small": "Smaller, and built like a Llama of today: RMS norm, SwiGLU, grouped heads. Takes an hour.",
    "t5-small": "Like a T5: RMS norm, gated feed-forward, relative positions. Takes an hour or two on a laptop.",
    "pooled-classifier": "An encoder, max-pooled over time. Takes minutes on a laptop.",
    "ending-classifier": "The same for short sentences: how does one end? Takes two minutes on a laptop.",
    "sentiment": "As small as it gets: one layer, two sentences. Takes seconds.",
    "reverse": "Letters in, the same letters out backwards: one layer each way. Takes half a minute.",
    "sort": "Digits in, the same digits out in order. Takes half a minute.",
    "add": "Two numbers of three digits in, their sum out. Takes two or three minutes.",
    "repeat": "Random letters, repeated: two layers of attention alone. Takes half a minute.",
    "brackets": "Which bracket may close here? Two layers. Takes a minute.",
}


def preset(name: str) -> RunConfig:
    """A preset by its name; raises ValueError listing the names there are."""
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]
