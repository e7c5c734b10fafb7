"""BERT and its family: Devlin et al. 2019, Liu et al. 2019 (RoBERTa), Sanh et al. 2019 (DistilBERT)."""

import re

from transformer.huggingface.folder import Refused
from transformer.huggingface.needs import Config
from transformer.huggingface.plan import (
    Names,
    Part,
    Plan,
    activation,
    architecture,
    checked,
    linear,
    norm,
    number,
    present,
    share,
    token,
)

HEADS = {  # what the name of an architecture ends with -> what of it is taken over
    "Model": "none", "ForMaskedLM": "masked", "ForPreTraining": "masked", "ForSequenceClassification": "classes",
    "ForTokenClassification": "none", "ForQuestionAnswering": "none"}
ROBERTAS = {"roberta": "Roberta", "xlm-roberta": "XLMRoberta", "camembert": "Camembert"}  # how their classes begin
LEFT_OUT = {"ForPreTraining": "whether one sentence follows another",
            "ForTokenClassification": "the class of each token",
            "ForQuestionAnswering": "where an answer starts and ends"}


def bert(config: Config, names: Names) -> Plan:
    """Post-norm encoder with learned positions, segment embeddings and a norm over their sum."""
    return _plan(config, names, "Bert", "bert", LAYER, settings=_sizes(config), first=0,
                 masked=("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                         ("cls.predictions.decoder.weight",), ("cls.predictions.decoder.bias", "cls.predictions.bias")),
                 classes=("bert.pooler.dense", "classifier", "tanh"))


def roberta(config: Config, names: Names) -> Plan:
    """The same, with positions that are counted from behind the padding id; Conneau et al. 2020 (XLM-RoBERTa) and
    Martin et al. 2020 (CamemBERT) changed what it learned from alone."""
    pad = config.get("pad_token_id", 1)
    if type(pad) is not int or not 0 <= pad < 1_000:
        raise Refused(f"config.json: pad_token_id is {str(pad)[:40]}, and RoBERTa counts its positions from there")
    family = ROBERTAS[str(config["model_type"])]
    return _plan(config, names, family, "roberta", LAYER, settings=_sizes(config), first=pad + 1,
                 masked=("lm_head.dense", "lm_head.layer_norm", ("lm_head.decoder.weight",),
                         ("lm_head.decoder.bias", "lm_head.bias")),
                 classes=("classifier.dense", "classifier.out_proj", "tanh"))


def distilbert(config: Config, names: Names) -> Plan:
    """The same without segments."""
    settings = {
        "d_model": number(config, "dim", "hidden_size"), "n_heads": number(config, "n_heads", "num_attention_heads"),
        "encoder_layers": number(config, "n_layers", "num_hidden_layers"), "d_ff": number(config, "hidden_dim"),
        "activation": activation(config, "activation", "gelu"), "norm_eps": 1e-12, "type_vocab": 0,
        "dropout": share(config, "dropout"), "attention_dropout": share(config, "attention_dropout")}
    return _plan(config, names, "DistilBert", "distilbert", DISTILLED, settings=settings, first=0,
                 masked=("vocab_transform", "vocab_layer_norm", ("vocab_projector.weight",), ("vocab_projector.bias",)),
                 classes=("pre_classifier", "classifier", "relu"))


LAYER = {"at": "encoder.layer", "q_proj": "attention.self.query", "k_proj": "attention.self.key",
         "v_proj": "attention.self.value", "out_proj": "attention.output.dense",
         "attention_norm": "attention.output.LayerNorm", "up": "intermediate.dense", "down": "output.dense",
         "feed_forward_norm": "output.LayerNorm"}
DISTILLED = {"at": "transformer.layer", "q_proj": "attention.q_lin", "k_proj": "attention.k_lin",
             "v_proj": "attention.v_lin", "out_proj": "attention.out_lin", "attention_norm": "sa_layer_norm",
             "up": "ffn.lin1", "down": "ffn.lin2", "feed_forward_norm": "output_layer_norm"}


def _sizes(config: Config) -> dict[str, object]:
    return {"d_model": number(config, "hidden_size"), "n_heads": number(config, "num_attention_heads"),
            "encoder_layers": number(config, "num_hidden_layers"), "d_ff": number(config, "intermediate_size"),
            "activation": activation(config, "hidden_act", "gelu"), "norm_eps": config.get("layer_norm_eps", 1e-12),
            "type_vocab": number(config, "type_vocab_size", default=2), "dropout": share(config, "hidden_dropout_prob"),
            "attention_dropout": share(config, "attention_probs_dropout_prob")}


def _labels(config: Config) -> list[str]:
    """The names of a classifier's classes. Raises Refused for what is not one choice among several."""
    if config.get("problem_type") not in (None, "single_label_classification"):
        raise Refused(f"the model needs the head of {str(config['problem_type'])[:40]} (problem_type), and Heads Up's "
                      "classifiers choose one class")
    named = config.get("id2label")
    count = len(named) if isinstance(named, dict) else number(config, "num_labels", default=2)
    if count < 2:
        raise Refused("the model needs a head for one number (num_labels 1, regression), and Heads Up's classifiers "
                      "choose among two classes or more")
    return [str((named or {}).get(str(i), f"class {i}"))[:100] for i in range(count)]


def _plan(config: Config, names: Names, family: str, prefix: str, layer: dict[str, str], *, settings: dict[str, object],
          first: int, masked: tuple, classes: tuple[str, str, str]) -> Plan:
    """first: the row of the position table that the first token gets."""
    guess = "classes" if f"{classes[1]}.weight" in names else "masked" if f"{masked[0]}.weight" in names else "none"
    head = architecture(config, {f"{family}{ending}": kind for ending, kind in HEADS.items()}, guess)
    labels = _labels(config) if head == "classes" else None
    vocab, longest = number(config, "vocab_size"), number(config, "max_position_embeddings")
    if longest <= first:
        raise Refused(f"config.json: max_position_embeddings is {longest}, and this model's positions begin at {first}")
    if head == "masked" and prefix == "roberta" and settings["activation"] != "gelu":
        raise Refused(f"the model needs gelu in its head and {settings['activation']} in its layers (hidden_act), and "
                      "Heads Up's models have one activation")
    shape = ({"pooling": "first", "pooler": classes[2], "n_classes": len(labels)} if labels else {"head": head})
    ours = checked(**settings, **shape, decoder_layers=0, vocab_size=vocab, max_len=longest - first, norm="post",
                   positions="learned", embedding_norm=True, embedding_scale=False, init="normal",
                   logits_bias=head == "masked", pad_id=token(config, "pad_token_id", vocab),
                   bos_id=token(config, "bos_token_id", vocab), eos_id=token(config, "eos_token_id", vocab), start_id=0)
    width, at = ours.d_model, f"{prefix}." if any(name.startswith(f"{prefix}.") for name in names) else ""
    words = f"{at}embeddings.word_embeddings.weight"
    parts = {"src_embedding.tokens.weight": Part(words, (vocab, width)),
             "src_embedding.positions.weight": Part(f"{at}embeddings.position_embeddings.weight", (longest, width),
                                                    lambda table: table[first:].clone()),
             **norm("src_embedding.norm", f"{at}embeddings.LayerNorm", width)}
    if ours.type_vocab:
        parts["src_embedding.types.weight"] = Part(f"{at}embeddings.token_type_embeddings.weight",
                                                   (ours.type_vocab, width))
    for i in range(ours.encoder_layers):
        to, block = f"encoder.layers.{i}", f"{at}{layer['at']}.{i}"
        for one in ("q_proj", "k_proj", "v_proj", "out_proj"):
            parts |= linear(f"{to}.attention.{one}", f"{block}.{layer[one]}", width, width)
        parts |= linear(f"{to}.feed_forward.up", f"{block}.{layer['up']}", ours.d_ff, width)
        parts |= linear(f"{to}.feed_forward.down", f"{block}.{layer['down']}", width, ours.d_ff)
        for one in ("attention_norm", "feed_forward_norm"):
            parts |= norm(f"{to}.{one}", f"{block}.{layer[one]}", width)
    if head == "masked":
        tied = [words] * bool(config.get("tie_word_embeddings", True))
        parts |= linear("masked_head.dense", masked[0], width, width) | norm("masked_head.norm", masked[1], width)
        parts["output.weight"] = Part(present(names, *masked[2], *tied), (vocab, width))
        parts["output.bias"] = Part(present(names, *masked[3]), (vocab,))
    if labels:
        parts |= linear("pooler", classes[0], width, width) | linear("output", classes[1], len(labels), width)
    spare = re.compile(rf"({prefix}\.)?(embeddings\.(position_ids|token_type_ids)|pooler\.dense\..*)|"
                       r"(cls|lm_head|vocab_transform|vocab_layer_norm|vocab_projector|classifier|qa_outputs)\..*")
    said = str(config.get("architectures"))
    left_out = next((what for ending, what in LEFT_OUT.items() if f"{ending}'" in said), None)
    return Plan(ours, parts, spare, classes=labels, left_out=left_out)
