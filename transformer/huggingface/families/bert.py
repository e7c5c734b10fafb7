"""BERT and its family: Devlin et al. 2019, Liu et al. 2019 (RoBERTa), Sanh et al. 2019 (DistilBERT),
Clark et al. 2020 (ELECTRA), Lan et al. 2020 (ALBERT)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.folder import Refused
from transformer.huggingface.plan import Names, Part, Plan, checked, in_layers, parts_of, present

HEADS = {  # ending of an architecture's name -> the head that is imported
    "Model": "none", "ForMaskedLM": "masked", "ForPreTraining": "masked", "ForSequenceClassification": "classes",
    "ForTokenClassification": "none", "ForQuestionAnswering": "none"}
ROBERTAS = {"roberta": "Roberta", "xlm-roberta": "XLMRoberta", "camembert": "Camembert"}  # how their classes begin
LEFT_OUT = {"ForPreTraining": "whether one sentence follows another",
            "ForTokenClassification": "the class of each token",
            "ForQuestionAnswering": "where an answer starts and ends"}
REPLACED = "which tokens were replaced"
BLOCK = "encoder.layer.{}"
LAYER = {"attention.q_proj": "attention.self.query", "attention.k_proj": "attention.self.key",
         "attention.v_proj": "attention.self.value", "attention.out_proj": "attention.output.dense",
         "attention_norm": "attention.output.LayerNorm", "feed_forward.up": "intermediate.dense",
         "feed_forward.down": "output.dense", "feed_forward_norm": "output.LayerNorm"}
DISTILLED = {**{f"attention.{one}_proj": f"attention.{one}_lin" for one in ("q", "k", "v", "out")},
             "attention_norm": "sa_layer_norm", "feed_forward.up": "ffn.lin1", "feed_forward.down": "ffn.lin2",
             "feed_forward_norm": "output_layer_norm"}
ONE_FOR_ALL = {"attention.q_proj": "attention.query", "attention.k_proj": "attention.key",
               "attention.v_proj": "attention.value", "attention.out_proj": "attention.dense",
               "attention_norm": "attention.LayerNorm", "feed_forward.up": "ffn", "feed_forward.down": "ffn_output",
               "feed_forward_norm": "full_layer_layer_norm"}


@dataclass(frozen=True)
class MaskedNames:
    """The head that predicts masked pieces: its linear map, its norm, and where its matrix and bias may be."""

    dense: str
    norm: str
    weights: tuple[str, ...]
    biases: tuple[str, ...]
    activation: str | None = None  # None: that of the layers


@dataclass(frozen=True)
class ClassNames:
    """The head that classifies: a linear map, the activation behind it, and the linear map to the classes."""

    pooler: str
    activation: str
    classifier: str = "classifier"


@dataclass(frozen=True, kw_only=True)
class Family:
    """How a family names its classes and the weights of its models."""

    classes: str  # how the names of its classes begin
    prefix: str  # of the weights
    masked: MaskedNames
    classifier: ClassNames
    block: str = BLOCK  # a layer, with {} for its number
    layer: Mapping[str, str] = field(default_factory=lambda: LAYER)
    widen: str = ""  # the projection of embeddings of another width
    first_position: int = 0  # the row of the table of positions that the first token gets
    heads: Mapping[str, str] = field(default_factory=lambda: HEADS)
    left_out: Mapping[str, str] = field(default_factory=lambda: LEFT_OUT)


PREDICTIONS = MaskedNames("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                          ("cls.predictions.decoder.weight",), ("cls.predictions.decoder.bias", "cls.predictions.bias"))
LM_HEAD = MaskedNames("lm_head.dense", "lm_head.layer_norm", ("lm_head.decoder.weight",),
                      ("lm_head.decoder.bias", "lm_head.bias"), "gelu")
BERT = Family(classes="Bert", prefix="bert", masked=PREDICTIONS, classifier=ClassNames("bert.pooler.dense", "tanh"))
DISTILBERT = Family(
    classes="DistilBert", prefix="distilbert", block="transformer.layer.{}", layer=DISTILLED,
    masked=MaskedNames("vocab_transform", "vocab_layer_norm", ("vocab_projector.weight",), ("vocab_projector.bias",)),
    classifier=ClassNames("pre_classifier", "relu"))
ELECTRA = Family(
    classes="Electra", prefix="electra", widen="embeddings_project", heads=HEADS | {"ForPreTraining": "none"},
    left_out=LEFT_OUT | {"ForPreTraining": REPLACED},
    masked=MaskedNames("generator_predictions.dense", "generator_predictions.LayerNorm", ("generator_lm_head.weight",),
                       ("generator_lm_head.bias",), "gelu"),
    classifier=ClassNames("classifier.dense", "gelu", "classifier.out_proj"))
ALBERT = Family(
    classes="Albert", prefix="albert", block="encoder.albert_layer_groups.0.albert_layers.0", layer=ONE_FOR_ALL,
    widen="encoder.embedding_hidden_mapping_in",
    left_out=LEFT_OUT | {"ForPreTraining": "whether two sentences are in order"},
    masked=MaskedNames("predictions.dense", "predictions.LayerNorm", ("predictions.decoder.weight",),
                       ("predictions.decoder.bias", "predictions.bias")),
    classifier=ClassNames("albert.pooler", "tanh"))


def bert(config: ConfigJson, names: Names) -> Plan:
    """Devlin et al. 2019, section 3: post-norm, with learned positions, segment embeddings and a norm over their
    sum."""
    return encoder(config, names, BERT, sizes(config))


def roberta(config: ConfigJson, names: Names) -> Plan:
    """BERT with positions that are counted from behind the padding id. Conneau et al. 2020 (XLM-RoBERTa) and Martin et
    al. 2020 (CamemBERT) changed only the texts that it learns from."""
    pad = config.get("pad_token_id", 1)
    if type(pad) is not int or not 0 <= pad < 1_000:
        raise Refused(f"config.json: pad_token_id is {str(pad)[:40]}, and RoBERTa counts its positions from there")
    family = Family(
        classes=ROBERTAS[str(config["model_type"])], prefix="roberta", masked=LM_HEAD, first_position=pad + 1,
        classifier=ClassNames("classifier.dense", "tanh", "classifier.out_proj"))
    return encoder(config, names, family, sizes(config))


def distilbert(config: ConfigJson, names: Names) -> Plan:
    """BERT without segments."""
    return encoder(config, names, DISTILBERT, {
        "d_model": config.number("dim", "hidden_size"), "n_heads": config.number("n_heads", "num_attention_heads"),
        "encoder_layers": config.number("n_layers", "num_hidden_layers"), "d_ff": config.number("hidden_dim"),
        "activation": config.activation("activation", "gelu"), "norm_eps": 1e-12, "type_vocab": 0,
        "dropout": config.dropout("dropout"), "attention_dropout": config.dropout("attention_dropout")})


def electra(config: ConfigJson, names: Names) -> Plan:
    """BERT with embeddings of a width of their own. The head of its discriminator, which says of each token whether it
    was replaced, is not imported."""
    settings, narrow = sizes(config), config.number("embedding_size", default=128)
    if narrow != settings["d_model"]:
        settings["embedding_dim"] = narrow
    return encoder(config, names, ELECTRA, settings)


def albert(config: ConfigJson, names: Names) -> Plan:
    """BERT with one layer for all, and embeddings that are projected even if their width is the model's."""
    return encoder(config, names, ALBERT, sizes(config) | {
        "embedding_dim": config.number("embedding_size", default=128), "shared_layers": True,
        "activation": config.activation("hidden_act", "gelu_new")})


def sizes(config: ConfigJson) -> dict[str, object]:
    """Settings of ours that nearly all of the family name alike."""
    return {"d_model": config.number("hidden_size"), "n_heads": config.number("num_attention_heads"),
            "encoder_layers": config.number("num_hidden_layers"), "d_ff": config.number("intermediate_size"),
            "activation": config.activation("hidden_act", "gelu"), "norm_eps": config.get("layer_norm_eps", 1e-12),
            "type_vocab": config.number("type_vocab_size", default=2), "dropout": config.dropout("hidden_dropout_prob"),
            "attention_dropout": config.dropout("attention_probs_dropout_prob")}


def labels_of(config: ConfigJson) -> list[str]:
    """The names of a classifier's classes. Raises Refused for a head that does not choose one of several."""
    if config.get("problem_type") not in (None, "single_label_classification"):
        raise Refused(f"the model needs the head of {str(config['problem_type'])[:40]} (problem_type), and Heads Up's "
                      "classifiers choose one class")
    named = config.get("id2label")
    if named is not None and not isinstance(named, dict):
        raise Refused("config.json: id2label should be an object; copy the folder again")
    count = len(named) if isinstance(named, dict) else config.number("num_labels", default=2)
    if count < 2:
        raise Refused("the model needs a head for one number (num_labels 1, regression), and Heads Up's classifiers "
                      "choose among two classes or more")
    return [str((named or {}).get(str(i), f"class {i}"))[:100] for i in range(count)]


def left_of(config: ConfigJson, parts: Mapping[str, str]) -> str | None:
    """The part of the named architecture that is not imported, in words."""
    named = str(config.get("architectures"))
    return next((what for ending, what in parts.items() if f"{ending}'" in named), None)


def encoder(config: ConfigJson, names: Names, family: Family, settings: dict[str, object]) -> Plan:
    """A post-norm encoder; settings: of ours, among them any that differ from BERT's. Raises Refused."""
    masked, prefix, first = family.masked, family.prefix, family.first_position
    guess = ("classes" if f"{family.classifier.classifier}.weight" in names
             else "masked" if f"{masked.dense}.weight" in names else "none")
    head = config.architecture({f"{family.classes}{ending}": kind for ending, kind in family.heads.items()}, guess)
    labels = labels_of(config) if head == "classes" else None
    vocab, longest = config.number("vocab_size"), config.number("max_position_embeddings", default=512)
    if longest <= first:
        raise Refused(f"config.json: max_position_embeddings is {longest}, and this model's positions begin at {first}")
    if labels:
        shape = {"pooling": "first", "pooler": family.classifier.activation, "n_classes": len(labels)}
    else:
        differs = head == "masked" and masked.activation not in (None, settings["activation"])
        shape = {"head": head, "head_activation": masked.activation if differs else None}
    alike = {"norm_position": "post", "positions": "learned", "embedding_norm": True,
             "embedding_scale": False, "init": "normal"}
    ours = checked(**{**alike, **settings, **shape}, decoder_layers=0, vocab_size=vocab, max_len=longest - first,
                   logits_bias=head == "masked", pad_id=config.token("pad_token_id", vocab),
                   bos_id=config.token("bos_token_id", vocab), eos_id=config.token("eos_token_id", vocab), start_id=0)
    at = f"{prefix}." if any(name.startswith(f"{prefix}.") for name in names) else ""
    words = f"{at}embeddings.word_embeddings"
    pooler = family.classifier.pooler
    parts = parts_of(ours, {
        "src_embedding.tokens": words, "src_embedding.norm": f"{at}embeddings.LayerNorm",
        "src_embedding.types": f"{at}embeddings.token_type_embeddings", "src_embedding.widen": f"{at}{family.widen}",
        **in_layers("encoder", f"{at}{family.block}", family.layer),
        "masked_head.dense": masked.dense, "masked_head.norm": masked.norm,
        "pooler": pooler if at else pooler.removeprefix(f"{prefix}."), "output": family.classifier.classifier})
    if ours.positions == "learned":
        parts["src_embedding.positions.weight"] = Part(
            f"{at}embeddings.position_embeddings.weight", (longest, ours.embedding_dim or ours.d_model),
            lambda table: table[first:].clone())
    if head == "masked":
        table, heads, tied = f"{words}.weight", masked.weights, bool(config.get("tie_word_embeddings", True))
        parts["output.weight"] = replace(parts["output.weight"], name=present(names, *heads, *[table] * tied))
        if tied:  # a file may have either name, or both
            parts["src_embedding.tokens.weight"] = replace(parts["src_embedding.tokens.weight"],
                                                           name=present(names, table, *heads))
        parts["output.bias"] = replace(parts["output.bias"], name=present(names, *masked.biases))
    spare = re.compile(rf"({prefix}\.)?(embeddings\.(position_ids|token_type_ids|position_embeddings\.weight)|"
                       r"pooler\..*)|"
                       r"(cls|lm_head|vocab_transform|vocab_layer_norm|vocab_projector|classifier|qa_outputs|"
                       r"generator_\w+|discriminator_predictions|predictions|sop_classifier|lm_predictions|"
                       r"mask_predictions)\..*")
    return Plan(ours, parts, spare, classes=labels, left_out=left_of(config, family.left_out))
