"""Weights without a run: statistics of tensors, circuits, neighbours, and differences between two models."""

from pathlib import Path

import numpy as np
import pytest
import torch

from transformer.analysis import tensors
from transformer.checkpoints.checkpoint import describe, load, save
from transformer.model.models import Transformer
from transformer.settings.config import ModelConfig


@pytest.fixture
def tied(tmp_path, tiny_tokenizer):
    """An encoder-decoder whose embeddings and output share one matrix, stored in half precision."""
    config = ModelConfig(d_model=16, n_heads=2, encoder_layers=1, decoder_layers=1, d_ff=32, max_len=40,
                         vocab_size=tiny_tokenizer.vocab_size)
    save(tmp_path / "tied", Transformer(config, generator=torch.Generator().manual_seed(1)), tokenizer=tiny_tokenizer,
         half=True)
    return load(tmp_path / "tied")


def test_every_tensor_of_the_file_is_listed_with_the_names_that_share_it(tied):
    kept = tensors.stored_tensors(tied.description)
    names = {name for tensor in kept for name in (tensor.name, *tensor.shared)}
    assert names == set(tied.model.state_dict())
    (shared,) = [tensor for tensor in kept if tensor.shared]
    assert {shared.name, *shared.shared} == {"output.weight", "src_embedding.tokens.weight",
                                             "tgt_embedding.tokens.weight"}
    assert {tensor.dtype for tensor in kept} == {"F16"}
    assert all(tensor.shape == tuple(tied.model.state_dict()[tensor.name].shape) for tensor in kept)


def test_blocks_hold_every_parameter_once(tied):
    counts = tensors.parameters_by_block(tensors.stored_tensors(tied.description))
    assert sum(counts.values()) == sum(p.numel() for p in tied.model.parameters())
    layer = tied.model.decoder.layers[0]
    assert counts["decoder", 0, "cross-attention"] == sum(p.numel() for p in layer.cross.parameters())
    assert counts["decoder", 0, "norms"] == 3 * 2 * 16


@pytest.mark.parametrize("name", ["translate", "write", "classify"])
def test_blocks_of_what_comes_with_the_app_are_all_its_parameters(name):
    about = describe(Path(__file__).parents[2] / "checkpoints" / name)
    assert sum(tensors.parameters_by_block(tensors.stored_tensors(about)).values()) == about.meta["parameters"]


def test_a_table_of_tensors_has_each_once_with_its_place_and_its_numbers(tied):
    table = tensors.frame(tied)
    kept = tensors.stored_tensors(tied.description)
    assert table.name.tolist() == [tensor.name for tensor in kept]
    assert table.parameters.sum() == sum(p.numel() for p in tied.model.parameters())
    row = table.set_index("name").loc["decoder.layers.0.cross.q_proj.weight"]
    assert (row.stack, row.layer, row.part, row["shape"], row["dtype"]) == (
        "decoder", 0, "cross-attention", (16, 16), "F16")
    values = tied.model.attention("cross", 0).q_proj.weight.double().numpy()
    assert row[["mean", "spread", "norm", "least", "most"]].tolist() == pytest.approx(
        [values.mean(), values.std(), np.linalg.norm(values), values.min(), values.max()])
    assert table.layer.isna().tolist() == [tensors.block_of(tensor)[1] is None for tensor in kept]


def test_a_histogram_counts_every_element_and_refuses_a_wild_number_of_bars():
    counts, edges = tensors.histogram(torch.linspace(-1, 1, 101), bars=10)
    assert counts.sum() == 101 and len(edges) == 11 and (edges[0], edges[-1]) == (-1, 1)
    with pytest.raises(ValueError, match="bars is 0"):
        tensors.histogram(torch.ones(3), bars=0)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_singular_values_are_those_of_the_whole_products(translator, kind):
    found = tensors.circuits(translator.model, kind)
    part, width = translator.model.attention(kind, 1), translator.config.width
    for head in range(2):
        rows = slice(head * width, (head + 1) * width)
        q, k, v = (one.weight[rows].double() for one in (part.q_proj, part.k_proj, part.v_proj))
        whole = torch.linalg.svdvals(q.T @ k)
        torch.testing.assert_close(torch.from_numpy(found.query_key[1, head]).double(), whole[:width], rtol=1e-5,
                                   atol=1e-5)
        assert whole[width:].max() < 1e-6
        moved = torch.linalg.svdvals(v.T @ part.out_proj.weight[:, rows].double().T)[:width]
        torch.testing.assert_close(torch.from_numpy(found.value_output[1, head]).double(), moved, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="no memory attention; this model has encoder, decoder"):
        tensors.circuits(translator.model, "memory")


def test_neighbours_are_nearest_by_cosine():
    table = torch.tensor([[1.0, 0], [2, 0.1], [0, 3], [0, 0], [-1, 0]])
    assert [id for id, _ in tensors.neighbours(table, 0)] == [1, 2, 4]
    assert tensors.neighbours(table, 0)[0][1] == pytest.approx(2 / np.hypot(2, 0.1))
    assert tensors.neighbours(table, 3) == []
    with pytest.raises(ValueError, match="no id 5; choose from 0 to 4"):
        tensors.neighbours(table, 5)


def test_models_differ_tensor_by_tensor_but_for_those_of_another_shape_or_of_one_alone(make_checkpoint):
    one, other = make_checkpoint(), make_checkpoint(norm_position="post")
    changes, unlike = tensors.compare_weights(one, one)
    assert {change.relative for change in changes} == {0.0} and not unlike
    assert len(changes) == len(dict(one.model.named_parameters()))
    changes, unlike = tensors.compare_weights(one, other)
    assert any("encoder.norm.weight is only in" in text for text in unlike)
    found = {change.name: change for change in changes}["encoder.layers.0.attention.q_proj.weight"]
    a, b = (ckpt.model.encoder.layers[0].attention.q_proj.weight.numpy() for ckpt in (one, other))
    assert found.relative == pytest.approx(np.linalg.norm(b - a) / np.linalg.norm(a), rel=1e-5)
    changes, unlike = tensors.compare_weights(one, make_checkpoint(d_ff=64))
    assert all("feed_forward.up" not in change.name for change in changes)
    assert any(text.startswith("encoder.layers.0.feed_forward.up.weight is 32 × 16") for text in unlike)
