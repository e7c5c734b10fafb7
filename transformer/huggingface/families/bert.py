"""BERT and its family: Devlin et al. 2019, Liu et al. 2019 (RoBERTa), Sanh et al. 2019 (DistilBERT),
Clark et al. 2020 (ELECTRA), Lan et al. 2020 (ALBERT)."""

import re
from collections.abc import Mapping

from transformer.huggingface.folder import Refused
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
from transformer.huggingface.unsupported import Config

HEADS = {  # what the name of an architecture ends with -> what of it is taken over
    "Model": "none", "ForMaskedLM": "masked", "ForPreTraining": "masked", "ForSequenceClassification": "classes",
    "ForTokenClassification": "none", "ForQuestionAnswering": "none"}
ROBERTAS = {"roberta": "Roberta", "xlm-roberta": "XLMRoberta", "camembert": "Camembert"}  # how their classes begin
LEFT_OUT = {"ForPreTraining": "whether one sentence follows another",
            "ForTokenClassification": "the class of each token",
            "ForQuestionAnswering": "where an answer starts and ends"}
REPLACED = "which tokens were replaced"
PREDICTIONS = ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
               ("cls.predictions.decoder.weight",), ("cls.predictions.decoder.bias", "cls.predictions.bias"))


def bert(config: Config, names: Names) -> Plan:
    """Post-norm encoder with learned positions, segment embeddings and a norm over their sum."""
    return encoder(config, names, "Bert", "bert", LAYER, settings=sizes(config), masked=PREDICTIONS,
                   classes=("bert.pooler.dense", "classifier", "tanh"))


def roberta(config: Config, names: Names) -> Plan:
    """The same, with positions that are counted from behind the padding id; Conneau et al. 2020 (XLM-RoBERTa) and
    Martin et al. 2020 (CamemBERT) changed what it learned from alone."""
    pad = config.get("pad_token_id", 1)
    if type(pad) is not int or not 0 <= pad < 1_000:
        raise Refused(f"config.json: pad_token_id is {str(pad)[:40]}, and RoBERTa counts its positions from there")
    family = ROBERTAS[str(config["model_type"])]
    return encoder(config, names, family, "roberta", LAYER, settings=sizes(config), first=pad + 1,
                   masked=("lm_head.dense", "lm_head.layer_norm", ("lm_head.decoder.weight",),
                           ("lm_head.decoder.bias", "lm_head.bias")), masked_by="gelu",
                   classes=("classifier.dense", "classifier.out_proj", "tanh"))


def distilbert(config: Config, names: Names) -> Plan:
    """The same without segments."""
    settings = {
        "d_model": number(config, "dim", "hidden_size"), "n_heads": number(config, "n_heads", "num_attention_heads"),
        "encoder_layers": number(config, "n_layers", "num_hidden_layers"), "d_ff": number(config, "hidden_dim"),
        "activation": activation(config, "activation", "gelu"), "norm_eps": 1e-12, "type_vocab": 0,
        "dropout": share(config, "dropout"), "attention_dropout": share(config, "attention_dropout")}
    return encoder(config, names, "DistilBert", "distilbert", DISTILLED, settings=settings,
                   masked=("vocab_transform", "vocab_layer_norm", ("vocab_projector.weight",),
                           ("vocab_projector.bias",)),
                   classes=("pre_classifier", "classifier", "relu"))


def electra(config: Config, names: Names) -> Plan:
    """The same with embeddings of a width of their own; the head of its discriminator, which says of each token whether
    it was replaced, has no place here."""
    settings, narrow = sizes(config), number(config, "embedding_size", default=128)
    if narrow != settings["d_model"]:
        settings["embedding_dim"] = narrow
    return encoder(config, names, "Electra", "electra", LAYER, settings=settings, widen="embeddings_project",
                   heads=HEADS | {"ForPreTraining": "none"}, left_out=LEFT_OUT | {"ForPreTraining": REPLACED},
                   masked=("generator_predictions.dense", "generator_predictions.LayerNorm",
                           ("generator_lm_head.weight",), ("generator_lm_head.bias",)), masked_by="gelu",
                   classes=("classifier.dense", "classifier.out_proj", "gelu"))


def albert(config: Config, names: Names) -> Plan:
    """The same with one layer for all, and embeddings that are projected even where their width is the model's."""
    settings = sizes(config) | {"embedding_dim": number(config, "embedding_size", default=128), "shared_layers": True,
                                "activation": activation(config, "hidden_act", "gelu_new")}
    return encoder(config, names, "Albert", "albert", ONE_FOR_ALL, settings=settings,
                   widen="encoder.embedding_hidden_mapping_in",
                   left_out=LEFT_OUT | {"ForPreTraining": "whether two sentences are in order"},
                   masked=("predictions.dense", "predictions.LayerNorm", ("predictions.decoder.weight",),
                           ("predictions.decoder.bias", "predictions.bias")),
                   classes=("albert.pooler", "classifier", "tanh"))


LAYER = {"at": "encoder.layer.{}", "q_proj": "attention.self.query", "k_proj": "attention.self.key",
         "v_proj": "attention.self.value", "out_proj": "attention.output.dense",
         "attention_norm": "attention.output.LayerNorm", "up": "intermediate.dense", "down": "output.dense",
         "feed_forward_norm": "output.LayerNorm"}
DISTILLED = {"at": "transformer.layer.{}", "q_proj": "attention.q_lin", "k_proj": "attention.k_lin",
             "v_proj": "attention.v_lin", "out_proj": "attention.out_lin", "attention_norm": "sa_layer_norm",
             "up": "ffn.lin1", "down": "ffn.lin2", "feed_forward_norm": "output_layer_norm"}
ONE_FOR_ALL = {"at": "encoder.albert_layer_groups.0.albert_layers.0", "q_proj": "attention.query",
               "k_proj": "attention.key", "v_proj": "attention.value", "out_proj": "attention.dense",
               "attention_norm": "attention.LayerNorm", "up": "ffn", "down": "ffn_output",
               "feed_forward_norm": "full_layer_layer_norm"}


def sizes(config: Config) -> dict[str, object]:
    """What nearly all of the family say alike."""
    return {"d_model": number(config, "hidden_size"), "n_heads": number(config, "num_attention_heads"),
            "encoder_layers": number(config, "num_hidden_layers"), "d_ff": number(config, "intermediate_size"),
            "activation": activation(config, "hidden_act", "gelu"), "norm_eps": config.get("layer_norm_eps", 1e-12),
            "type_vocab": number(config, "type_vocab_size", default=2), "dropout": share(config, "hidden_dropout_prob"),
            "attention_dropout": share(config, "attention_probs_dropout_prob")}


def labels_of(config: Config) -> list[str]:
    """The names of a classifier's classes. Raises Refused for what is not one choice among several."""
    if config.get("problem_type") not in (None, "single_label_classification"):
        raise Refused(f"the model needs the head of {str(config['problem_type'])[:40]} (problem_type), and Heads Up's "
                      "classifiers choose one class")
    named = config.get("id2label")
    if named is not None and not isinstance(named, dict):
        raise Refused("config.json: id2label should be an object; copy the folder again")
    count = len(named) if isinstance(named, dict) else number(config, "num_labels", default=2)
    if count < 2:
        raise Refused("the model needs a head for one number (num_labels 1, regression), and Heads Up's classifiers "
                      "choose among two classes or more")
    return [str((named or {}).get(str(i), f"class {i}"))[:100] for i in range(count)]


def left_of(config: Config, parts: Mapping[str, str]) -> str | None:
    """What of the architecture that a folder names is not taken over, in words."""
    said = str(config.get("architectures"))
    return next((what for ending, what in parts.items() if f"{ending}'" in said), None)


def encoder(config: Config, names: Names, family: str, prefix: str, layer: Mapping[str, str], *,
            settings: dict[str, object], masked: tuple[str, str, tuple[str, ...], tuple[str, ...]],
            classes: tuple[str, str, str], masked_by: str | None = None, first: int = 0, widen: str = "",
            heads: Mapping[str, str] = HEADS, left_out: Mapping[str, str] = LEFT_OUT) -> Plan:
    """A post-norm encoder whose layers are named alike.

    settings: of ours, among them any that differ from BERT's. masked: the head that predicts tokens, its linear map,
    norm, matrix and bias; masked_by: its activation, where it is not the layers'. classes: the linear map before a
    classifier's, that, and the activation between. first: the row of the position table that the first token gets.
    widen: what projects embeddings of another width.
    """
    guess = "classes" if f"{classes[1]}.weight" in names else "masked" if f"{masked[0]}.weight" in names else "none"
    head = architecture(config, {f"{family}{ending}": kind for ending, kind in heads.items()}, guess)
    labels = labels_of(config) if head == "classes" else None
    vocab, longest = number(config, "vocab_size"), number(config, "max_position_embeddings", default=512)
    if longest <= first:
        raise Refused(f"config.json: max_position_embeddings is {longest}, and this model's positions begin at {first}")
    shape = {"pooling": "first", "pooler": classes[2], "n_classes": len(labels)} if labels else {"head": head}
    if head == "masked" and masked_by not in (None, settings["activation"]):
        shape["head_activation"] = masked_by
    alike = {"norm_position": "post", "positions": "learned", "embedding_norm": True,
             "embedding_scale": False, "init": "normal"}
    ours = checked(**{**alike, **settings, **shape}, decoder_layers=0, vocab_size=vocab, max_len=longest - first,
                   logits_bias=head == "masked", pad_id=token(config, "pad_token_id", vocab),
                   bos_id=token(config, "bos_token_id", vocab), eos_id=token(config, "eos_token_id", vocab), start_id=0)
    width, at = ours.d_model, f"{prefix}." if any(name.startswith(f"{prefix}.") for name in names) else ""
    narrow, words = ours.embedding_dim or width, f"{at}embeddings.word_embeddings.weight"
    parts = {"src_embedding.tokens.weight": Part(words, (vocab, narrow)),
             **norm("src_embedding.norm", f"{at}embeddings.LayerNorm", narrow)}
    if ours.positions == "learned":
        parts["src_embedding.positions.weight"] = Part(
            f"{at}embeddings.position_embeddings.weight", (longest, narrow), lambda table: table[first:].clone())
    if ours.type_vocab:
        parts["src_embedding.types.weight"] = Part(f"{at}embeddings.token_type_embeddings.weight",
                                                   (ours.type_vocab, narrow))
    if ours.embedding_dim:
        parts |= linear("src_embedding.widen", f"{at}{widen}", width, narrow)
    for i in range(ours.encoder_layers):
        to, block = f"encoder.layers.{i}", f"{at}{layer['at'].format(i)}"
        for one in ("q_proj", "k_proj", "v_proj", "out_proj"):
            parts |= linear(f"{to}.attention.{one}", f"{block}.{layer[one]}", width, width)
        parts |= linear(f"{to}.feed_forward.up", f"{block}.{layer['up']}", ours.d_ff, width)
        parts |= linear(f"{to}.feed_forward.down", f"{block}.{layer['down']}", width, ours.d_ff)
        for one in ("attention_norm", "feed_forward_norm"):
            parts |= norm(f"{to}.{one}", f"{block}.{layer[one]}", width)
    if head == "masked":
        tied = [words] * bool(config.get("tie_word_embeddings", True))
        parts |= linear("masked_head.dense", masked[0], narrow, width) | norm("masked_head.norm", masked[1], narrow)
        parts["output.weight"] = Part(present(names, *masked[2], *tied), (vocab, narrow))
        parts["output.bias"] = Part(present(names, *masked[3]), (vocab,))
    if labels:
        pooler = classes[0] if at or not classes[0].startswith(f"{prefix}.") else classes[0].removeprefix(f"{prefix}.")
        parts |= linear("pooler", pooler, width, width) | linear("output", classes[1], len(labels), width)
    spare = re.compile(rf"({prefix}\.)?(embeddings\.(position_ids|token_type_ids|position_embeddings\.weight)|"
                       r"pooler\..*)|"
                       r"(cls|lm_head|vocab_transform|vocab_layer_norm|vocab_projector|classifier|qa_outputs|"
                       r"generator_\w+|discriminator_predictions|predictions|sop_classifier|lm_predictions|"
                       r"mask_predictions)\..*")
    return Plan(ours, parts, spare, classes=labels, left_out=left_of(config, left_out))
