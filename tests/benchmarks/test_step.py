"""The step benchmark compares the same numbers on both sides."""

import pytest

pytestmark = pytest.mark.slow  # importing transformers takes seconds
SHAPE = {"layers": 2, "d_model": 16, "n_heads": 2, "d_ff": 24, "vocab_size": 30}


@pytest.fixture(scope="module")
def step():
    """The benchmark, which imports its peer."""
    from benchmarks import step

    return step


@pytest.fixture(scope="module")
def task(step):
    return step.Task(*step.build(**SHAPE), tokens=5, source=4)


def test_logits_and_weights_are_marians(step, task):
    assert 0 < task.check() <= step.TOLERANCE


def test_a_decoder_may_have_other_layers_than_the_encoder(step):
    shallow = step.Task(*step.build(**SHAPE, decoder_layers=1), tokens=5, source=4)
    assert 0 < shallow.check() <= step.TOLERANCE
    assert {kind: len(weights) for kind, weights in shallow.ours_at_the_end().items()} == {
        "encoder": 2, "decoder": 1, "cross": 1}


def test_weights_that_differ_are_noticed(task):
    moved = task.theirs.model.decoder.layers[1].encoder_attn.q_proj.bias
    before = moved.clone()
    moved += 1.0
    with pytest.raises(AssertionError, match="differ by"):
        task.check()
    moved.copy_(before)


def test_every_side_ends_up_with_all_weights(task):
    source, tokens, (layers, heads) = 4, 5, (2, 2)
    sizes = {"encoder": (source, source), "decoder": (tokens, tokens), "cross": (tokens, source)}
    assert {kind: tuple(w.shape) for kind, w in task.ours_at_the_end().items()} == {
        kind: (layers, heads, *size) for kind, size in sizes.items()}
    assert [one["decoder"].shape[-2:] for one in task.ours_at_every_step()] == [(n, n) for n in range(1, tokens + 1)]
    assert len(task.generate().decoder_attentions) == len(task.loop()[1:]) == tokens


def test_a_llamas_logits_and_weights_are_theirs(step):
    shape = {"layers": 2, "d_model": 16, "n_heads": 4, "kv_heads": 2, "d_ff": 24, "vocab_size": 30}
    llama = step.Task(*step.build_llama(**shape), tokens=5, source=4)
    assert 0 < llama.check() <= step.TOLERANCE
    assert llama.ours_at_the_end()["decoder"].shape == (2, 4, 7, 7)  # a prompt of 3, and 4 tokens read after it
    assert step.floor(llama.ckpt, 5) > 0
    assert {*llama.newest(6)} == {"row", "all", "peer"}  # which has compared their rows
