"""What somebody else's model needs and ours lack: all of it at once, by its config.json, before its weights."""

import json

import pytest

import transformer
from transformer.huggingface.importing import FAMILIES, import_model
from transformer.huggingface.needs import check_needs, needs
from transformer.intake.taking import take_in

LLAMA = {"model_type": "llama", "hidden_size": 576, "num_attention_heads": 9, "num_key_value_heads": 3,
         "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 100_000}
QWEN = {**LLAMA, "model_type": "qwen2", "num_key_value_heads": 9, "sliding_window": 131_072, "rope_theta": 10_000}


def refused(folder, config):
    """The sentence with which a folder of a configuration alone is refused."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError) as error:  # noqa: PT011
        import_model(folder, folder / "ours")
    return str(error.value)


def test_all_that_a_model_needs_is_said_before_its_weights_are_asked_for(tmp_path):
    said = refused(tmp_path, LLAMA)
    assert said.startswith("the model is of type llama and needs gated feed-forward layers, RMS norm, ")
    assert "grouped queries (num_key_value_heads 3 of 9)" in said
    assert "rotary positions of base 100,000" in said
    assert "model.safetensors" not in said


def test_a_type_that_nobody_knows_is_judged_by_its_fields(tmp_path):
    said = refused(tmp_path, {**LLAMA, "model_type": "made-up"})
    assert "type made-up and needs RMS norm (rms_norm_eps), grouped queries" in said
    assert "gated feed-forward layers" in said
    assert "of type made-up, and gpt2, bert" in refused(tmp_path, {"model_type": "made-up"})


@pytest.mark.parametrize("window", [{"use_sliding_window": False}, {"sliding_window": None}, {"sliding_window": 0},
                                    {"layer_types": ["full_attention"] * 2}], ids=str)
def test_a_window_that_is_not_used_is_none(window):
    assert not any("window" in one for one in needs({**QWEN, **window}))
    assert any("a sliding attention window" in one for one in needs(QWEN))
    assert any("a sliding attention window" in one for one in needs({**QWEN, "layer_types": ["sliding_attention"]}))


@pytest.mark.parametrize("kind", ["opt", "bart", "mbart"])
def test_what_is_only_not_written_yet_lacks_nothing(tmp_path, kind):
    said = refused(tmp_path, {"model_type": kind, "activation_function": "relu"})
    assert f"of type {kind}, which is not imported yet, although ours have all that it needs" in said
    assert "third row" not in said


@pytest.mark.parametrize(("config", "says"), [
    ({"model_type": "t5", "feed_forward_proj": "gated-gelu"}, ["relative position bias", "RMS norm", "gated"]),
    ({"model_type": "gpt_neox", "use_parallel_residual": True, "rotary_pct": 0.25},
     ["attention beside the feed-forward layer", "rotary positions over a part"]),
    ({"model_type": "gemma2", "final_logit_softcapping": 30.0, "sliding_window": 4096},
     ["capped logits", "a sliding attention window", "norms before and after"]),
    ({"model_type": "electra", "hidden_size": 256, "embedding_size": 128}, ["embeddings of another width"]),
    ({"model_type": "whisper"}, ["sound to read"]),
    ({"model_type": "gpt2", "alibi": True, "activation_function": "quick_gelu"}, ["ALiBi", "activation quick_gelu"]),
    ({"model_type": "marian", "normalize_before": True, "add_final_layer_norm": True}, ["pre-norm", "a final norm"]),
], ids=lambda value: str(value)[:40])
def test_each_is_named(config, says):
    with pytest.raises(ValueError, match="which Heads Up's models do not have") as error:
        check_needs(config, tuple(FAMILIES))
    assert all(what in str(error.value) for what in says)


def test_every_type_that_transformers_makes_by_default_gets_a_sentence():
    hf = pytest.importorskip("transformers")
    for name in ("Llama", "Qwen2", "Mistral", "Gemma2", "Phi", "Phi3", "Falcon", "GPTJ", "GPTNeo", "GPTNeoX", "Bloom",
                 "T5", "Albert", "DebertaV2", "ModernBert", "OPT", "Bart", "M2M100"):
        config = json.loads(json.dumps(getattr(hf, f"{name}Config")().to_dict(), default=str))
        with pytest.raises(ValueError, match="of type"):
            check_needs(config, tuple(FAMILIES))
    for kind in ("GPT2", "Bert", "Roberta", "XLMRoberta", "Camembert", "DistilBert", "Marian"):
        assert needs(getattr(hf, f"{kind}Config")().to_dict()) == []


def test_a_gguf_is_said_to_be_one_as_a_file_as_a_folder_and_beside_a_configuration(tmp_path):
    folder = tmp_path / "smol"
    folder.mkdir()
    (folder / "smol.Q4_1.gguf").write_bytes(b"GGUF\3\0\0\0" + bytes(64))
    said = "smol.Q4_1.gguf is a GGUF file, which is not read yet; convert it"
    with pytest.raises(ValueError, match=said):
        take_in(folder / "smol.Q4_1.gguf", tmp_path / "taken")
    with pytest.raises(ValueError, match=said):
        import_model(folder, tmp_path / "ours")
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1,
                                                    "vocab_size": 9, "n_positions": 5}))
    with pytest.raises(ValueError, match=said):
        import_model(folder, tmp_path / "ours")


def test_opening_a_hugging_face_folder_says_to_import_it(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(ValueError, match="is a Hugging Face folder; import it first: headsup import"):
        transformer.load(tmp_path)


def test_a_name_that_no_checkpoint_has_leads_to_their_list():
    with pytest.raises(ValueError, match="there is no folder wrote; `headsup list`"):
        transformer.load("wrote")
