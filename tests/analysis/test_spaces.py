"""Spaces against one text at a time, numpy's SVD, the model's own scores and brute force."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import transformer
from tests.analysis.texts import sentences
from tests.rows import each_row
from transformer.analysis.spaces import embeddings, neighbours, pca, queries_and_keys, scores, states, umap


def runs(ckpt, *names):
    """The passes over each text alone."""
    return [transformer.run(ckpt, one.text, one.target, capture=list(names)) for one in sentences(ckpt)]


@each_row("settings", [
    {}, {"encoder_layers": 0, "norm_kind": "rms"}, {"decoder_layers": 0, "head": "none"}, {"norm_position": "post"},
    {"decoder_layers": 0, "pooling": "max", "n_classes": 3}, {"encoder_layers": 0, "pad_id": None}])
def test_states_are_those_of_each_text_read_alone(make_checkpoint, settings):
    ckpt = make_checkpoint(**settings)
    for stack in ckpt.config.stacks:
        for place in (f"{stack}.0.resid_pre", f"{stack}.1.resid_post", f"{stack}.final"):
            space = states(ckpt, sentences(ckpt), place)
            alone = runs(ckpt, place)
            torch.testing.assert_close(space.values, torch.cat([one[place] for one in alone]), atol=1e-5, rtol=1e-4)
            side = "src" if stack == "encoder" else "tgt"
            assert [list(tokens) for tokens in space.texts] == [one.tokens(side) for one in alone]
            at = len(alone[0][place]) + 2  # of the second text
            assert space.places[at].tolist() == [1, 2] and space.token(at) == alone[1].tokens(side)[2]
            assert space.context(at, 1) == (tuple(alone[1].tokens(side)[1:4]), 1)


def test_of_many_texts_the_first_are_read_until_there_are_enough_tokens(writer):
    read, done = sentences(writer), []
    lengths = [one.tokens for one in read]
    space = states(writer, read, "decoder.0.resid_pre", most=sum(lengths[:3]) + 1,
                   watch=lambda *counts: done.append(counts))
    assert len(space) == sum(lengths[:3]) and len(space.texts) == 3 and done[-1] == (3, 3)
    assert len(states(writer, read, "decoder.0.resid_pre", most=1)) == lengths[0]


def test_what_has_no_vector_for_each_token_is_refused(writer, classifier):
    with pytest.raises(ValueError, match="not one vector for each token; choose one such as decoder.0.resid_post"):
        states(writer, sentences(writer), "decoder.0.pattern")
    with pytest.raises(ValueError, match="no site 'decoder.9.resid_post'"):
        states(writer, sentences(writer), "decoder.9.resid_post")
    with pytest.raises(ValueError, match="no texts to read"):
        states(writer, [], "decoder.0.resid_post")
    with pytest.raises(ValueError, match="no head 2; choose one from 0 to 1"):
        queries_and_keys(writer, sentences(writer), "decoder", 0, 2)
    with pytest.raises(ValueError, match="no site 'cross.0.q'"):
        queries_and_keys(writer, sentences(writer), "cross", 0, 0)
    with pytest.raises(ValueError, match="has no decoder"):
        embeddings(classifier, "tgt")


@each_row(("settings", "biased"), [
    ({}, False), ({"encoder_layers": 0, "positions": "rotary"}, False), ({"positions": "learned"}, False),
    ({"encoder_layers": 0, "positions": "rotary", "kv_heads": 1}, False), ({"attention_scale": 0.5}, False),
    ({"score_cap": 5.0}, False), ({"decoder_layers": 0, "head": "none", "positions": "rotary"}, False),
    ({"encoder_layers": 0, "positions": "alibi"}, True), ({"encoder_layers": 0, "positions": "relative"}, True)])
def test_queries_and_keys_are_the_model_s_and_give_its_scores(make_checkpoint, settings, biased):
    ckpt = make_checkpoint(**settings)
    for kind in ckpt.config.kinds:
        queries, keys = queries_and_keys(ckpt, sentences(ckpt), kind, 1, 1)
        alone = runs(ckpt, f"{kind}.1.q", f"{kind}.1.k", f"{kind}.1.scores")
        shared = 1 // (ckpt.config.n_heads // ckpt.config.groups)
        torch.testing.assert_close(queries.values, torch.cat([one[f"{kind}.1.q"][1] for one in alone]),
                                   atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(keys.values, torch.cat([one[f"{kind}.1.k"][shared] for one in alone]),
                                   atol=1e-5, rtol=1e-4)
        for number, one in enumerate(alone):
            theirs = one[f"{kind}.1.scores"][1]
            ours = scores(ckpt, *(space.values[space.places[:, 0] == number] for space in (queries, keys)))
            assert ours.shape == theirs.shape == tuple(len(space.texts[number]) for space in (queries, keys))
            seen = theirs.isfinite()
            alike = torch.isclose(ours[seen], theirs[seen], atol=1e-5, rtol=1e-4).all()
            assert alike != (biased and kind != "cross")  # what positions add is not of queries and keys
            if ckpt.config.attention_scale is None and ckpt.config.score_cap is None:
                q, k = (space.values[space.places[:, 0] == number] for space in (queries, keys))
                torch.testing.assert_close(ours, q @ k.T / ckpt.config.width ** 0.5)


def test_embeddings_are_the_rows_that_the_model_reads(translator):
    run = transformer.run(translator, "I am cold.", "Go on.", capture="*.embed")
    for side, ids in (("src", run.batch.src), ("tgt", run.batch.tgt)):
        stack = {"src": "encoder", "tgt": "decoder"}[side]
        factor = getattr(translator.model, f"{side}_embedding").scale
        torch.testing.assert_close(embeddings(translator, side)[ids[0]] * factor, run[f"{stack}.embed"])


def test_pca_is_numpy_s_decomposition():
    vectors = torch.randn(50, 7, generator=torch.Generator().manual_seed(0)) * torch.arange(1.0, 8) + 3
    found = pca(vectors)
    x = vectors.numpy().astype(np.float64)
    u, sizes, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
    expected = (u * sizes)[:, :2]
    expected *= np.sign((expected * found.points.numpy()).sum(0))
    np.testing.assert_allclose(found.points, expected, atol=1e-4)
    np.testing.assert_allclose(found.variance, (sizes**2 / (sizes**2).sum())[:2], rtol=1e-5)
    np.testing.assert_allclose(found.variance, found.points.var(0, correction=0) / x.var(0).sum(), rtol=1e-4)
    torch.testing.assert_close(found.of(vectors), found.points)
    largest = found.axes.gather(1, found.axes.abs().argmax(1, keepdim=True))
    assert (largest > 0).all()
    torch.testing.assert_close(pca(vectors.flip(0)).points.flip(0), found.points, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("vectors", [torch.ones(1, 5), torch.ones(4, 5), torch.tensor([[1.0], [2.0], [4.0]])])
def test_pca_of_few_or_equal_vectors_has_axes_that_hold_nothing(vectors):
    found = pca(vectors)
    assert found.points.shape == (len(vectors), 2) and found.points.isfinite().all()
    assert sum(found.variance) == pytest.approx(float(len(vectors.unique(dim=0)) > 1)) and found.variance[1] < 1e-9
    with pytest.raises(ValueError, match="no vectors"):
        pca(vectors[:0])


def test_neighbours_are_those_of_brute_force(monkeypatch):
    monkeypatch.setattr("transformer.analysis.spaces.AT_ONCE", 7)
    generator = torch.Generator().manual_seed(1)
    vectors, one = torch.randn(40, 6, generator=generator) + 5, torch.randn(6, generator=generator) + 5
    centred = vectors - vectors.mean(0)
    cosines = [float(F.cosine_similarity(row, one - vectors.mean(0), dim=0)) for row in centred]
    found = neighbours(vectors, one, 9)
    assert [near.at for near in found] == sorted(range(40), key=lambda at: -cosines[at])[:9]
    assert [near.similarity for near in found] == pytest.approx(sorted(cosines, reverse=True)[:9], abs=1e-5)
    assert neighbours(vectors, vectors[3], 1)[0].at == 3 and len(neighbours(vectors, one, 99)) == 40


def test_without_umap_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ValueError, match=r'pip install "headsup-attention\[spaces\]"'):
        umap(torch.randn(20, 4), 0)


def test_umap_is_asked_for_one_thread_one_seed_and_the_cosine(monkeypatch):
    asked = []

    class UMAP:
        def __init__(self, **settings):
            asked.append(settings)

        def fit_transform(self, vectors):
            asked.append(vectors)
            return vectors[:, :2].astype(np.float64)

    numba = SimpleNamespace(config=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=UMAP))
    monkeypatch.setitem(sys.modules, "numba", numba)
    vectors = torch.randn(60, 8, generator=torch.Generator().manual_seed(0)) + 5
    points = umap(vectors, 7)
    settings, given = asked
    assert settings == {"n_neighbors": 15, "metric": "cosine", "random_state": 7, "n_jobs": 1}
    np.testing.assert_allclose(given, vectors - vectors.mean(0), atol=1e-6)
    assert numba.config.THREADING_LAYER == "workqueue"  # the other gives PyTorch in this thread every core
    assert points.dtype == torch.float32 and torch.equal(points, torch.from_numpy(given[:, :2]))
    umap(vectors[:12], 0)
    assert asked[2]["n_neighbors"] == 11
    with pytest.raises(ValueError, match="too few for UMAP; give at least 10"):
        umap(vectors[:5], 0)


@pytest.mark.rare("compiles umap-learn for half a minute; what it is asked for is in make test")
def test_umap_is_the_same_for_the_same_seed():
    generator = torch.Generator().manual_seed(0)
    vectors = torch.randn(60, 8, generator=generator)
    vectors[:30] += 10 * torch.eye(8)[0]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one, again = (umap(vectors, 0) for _ in range(2))
        assert torch.get_num_threads() == 1  # and not all cores, which others compute on
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(one, again) and one.shape == (60, 2) and not torch.equal(one, umap(vectors, 1))
    distances = torch.cdist(one, one).fill_diagonal_(float("inf"))
    assert ((distances.argmin(1) < 30) == (torch.arange(60) < 30)).all()  # the nearest is of the same group
