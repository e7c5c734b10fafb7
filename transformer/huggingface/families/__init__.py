"""How models of other families become ours: a file for each family of names."""

from collections.abc import Callable, Mapping

from transformer.huggingface.families import bart, bert, gpt2, llama, t5
from transformer.huggingface.needs import Config
from transformer.huggingface.plan import Names, Plan

# model_type of config.json -> how a model of it becomes one of ours, given the names of the weights that are there.
FAMILIES: Mapping[str, Callable[[Config, Names], Plan]] = {
    "gpt2": gpt2.gpt2, **dict.fromkeys(llama.CLASSES, llama.llama), **dict.fromkeys(bart.CLASSES, bart.bart),
    **dict.fromkeys(t5.CLASSES, t5.t5), "bert": bert.bert,
    **dict.fromkeys(bert.ROBERTAS, bert.roberta), "distilbert": bert.distilbert}
