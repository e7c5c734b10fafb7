"""Imports of other families: a file for each family of names."""

from collections.abc import Callable, Mapping

from transformer.huggingface.config_json import ConfigJson
from transformer.huggingface.families import bart, bert, bloom, deberta, gpt2, llama, modernbert, neox, opt, t5
from transformer.huggingface.plan import Names, Plan

# model_type of config.json -> how a model of it becomes one of ours, given the names of the weights that are there.
FAMILIES: Mapping[str, Callable[[ConfigJson, Names], Plan]] = {
    "gpt2": gpt2.gpt2, **dict.fromkeys(llama.CLASSES, llama.llama),
    "gpt_neox": neox.neox, "gptj": neox.gptj, "gpt_neo": neox.gpt_neo, "phi": neox.phi, "bloom": bloom.bloom,
    "falcon": bloom.falcon, "mpt": bloom.mpt, "opt": opt.opt,
    **dict.fromkeys(bart.CLASSES, bart.bart), **dict.fromkeys(t5.CLASSES, t5.t5),
    "bert": bert.bert, **dict.fromkeys(bert.ROBERTAS, bert.roberta), "distilbert": bert.distilbert,
    "electra": bert.electra, "albert": bert.albert, "deberta-v2": deberta.deberta,
    "modernbert": modernbert.modernbert}
