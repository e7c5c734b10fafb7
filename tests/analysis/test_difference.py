"""Two models on the same texts: the distance of their heads, and the change in quality."""

import numpy as np
import pytest
import torch

from transformer.analysis.difference import attention_distance, compare_quality, untrained_twin
from transformer.analysis.sample import read_texts
from transformer.inference.reading import attend

TEXTS, TARGETS = ["I am cold.", "Go on.", "He is tall."], ["We can go.", "Who is it?", "I see a dog."]


def test_the_distance_of_heads_is_0_to_1_and_queries_without_a_choice_count_nowhere(writer):
    mask = torch.ones(2, 3, dtype=torch.bool)
    one, other = torch.zeros(2, 1, 1, 2, 3)
    one[..., 0], other[..., 1] = 1, 1
    assert attention_distance(one, other, mask).item() == 1
    assert attention_distance(one, one, mask).item() == 0
    other[0, 0, 0] = one[0, 0, 0]
    assert attention_distance(one, other, mask).item() == 0.5
    twin = untrained_twin(writer)
    first, second = (attend(ckpt, "go on a bit") for ckpt in (writer, twin))
    found = attention_distance(first.attentions["decoder"], second.attentions["decoder"], first.masks["decoder"])
    difference = (first.attentions["decoder"] - second.attentions["decoder"]).abs().sum(-1) / 2
    torch.testing.assert_close(found, difference[..., 1:].mean(-1))
    alone = attend(writer, "g").attentions["decoder"]
    assert not attention_distance(alone, alone, torch.ones(1, 1, dtype=torch.bool)).any()


def test_an_untrained_twin_reads_the_same_and_is_another_model(translator):
    twin = untrained_twin(translator)
    assert twin.config == translator.config and twin.tokenizer is translator.tokenizer
    assert twin.id.endswith("untrained") and twin.meta == {"step": 0}
    assert not torch.equal(twin.model.output.weight, translator.model.output.weight)
    assert torch.equal(twin.model.output.weight, untrained_twin(translator).model.output.weight)
    assert not twin.model.training and not any(p.requires_grad for p in twin.model.parameters())


def test_quality_is_measured_on_the_same_texts(translator):
    twin = untrained_twin(translator)
    sentences = read_texts(translator, TEXTS, TARGETS)
    seen = []
    found = compare_quality(translator, twin, sentences, sentences, watch=lambda done, of: seen.append((done, of)))
    assert found.change == pytest.approx(found.other.loss - found.one.loss, rel=1e-6)
    assert found.error > 0 and found.n == 3 and len(found.one.outputs) == 3
    assert seen[-1][0] == seen[-1][1]
    sentence = sentences[0]
    logits = twin.model(torch.tensor([sentence.src]), torch.tensor([sentence.tgt]))[0]
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor(sentence.labels), reduction="sum")
    np.testing.assert_allclose(found.other.nats[0], float(loss), rtol=1e-5)
    sentences = read_texts(translator, TEXTS, TARGETS)
    with pytest.raises(ValueError, match="do not read the same sentences"):
        compare_quality(translator, translator, sentences, sentences[::-1])
