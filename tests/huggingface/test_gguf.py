"""GGUF files, compared with the Hugging Face models that they were made of: configuration, weights, refusals."""

import random
import struct

import gguf
import numpy as np
import pytest
import torch

from tests.huggingface.random_models import random_model
from tests.rows import each_row
from transformer.checkpoints.weights import Refused
from transformer.huggingface.gguf import GgufFile
from transformer.huggingface.gguf_header import read_contents
from transformer.huggingface.importing import plan_of

SIZES = {"vocab_size": 61, "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
         "intermediate_size": 96, "max_position_embeddings": 48, "bos_token_id": 1, "eos_token_id": 2,
         "pad_token_id": 0}
GROUPED = {**SIZES, "num_key_value_heads": 2}
GPT2 = {"vocab_size": 61, "n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 40, "n_inner": 96,
        "bos_token_id": 1, "eos_token_id": 2}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
LONG = {"rope_type": "longrope", "rope_theta": 10_000.0, "long_factor": [float(i + 2) for i in range(8)],
        "short_factor": [1.0 + i / 8 for i in range(8)], "original_max_position_embeddings": 24}
YARN = {"rope_type": "yarn", "rope_theta": 10_000.0, "factor": 4.0, "original_max_position_embeddings": 16}
# name: (architecture, model, its configuration, what the file says beside the usual)
CASES = {
    "llama": ("llama", "LlamaForCausalLM", "LlamaConfig", {**GROUPED, "rms_norm_eps": 1e-5}, {}),
    "llama tied, biases, wide heads": ("llama", "LlamaForCausalLM", "LlamaConfig", {
        **GROUPED, "head_dim": 24, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}, {}),
    "llama 3.1": ("llama", "LlamaForCausalLM", "LlamaConfig", {**GROUPED, "rope_parameters": LLAMA3}, {}),
    "mistral": ("llama", "MistralForCausalLM", "MistralConfig", {**GROUPED, "sliding_window": 9},
                {"attention.sliding_window": 9}),
    "granite": ("granite", "GraniteForCausalLM", "GraniteConfig", {
        **GROUPED, "attention_multiplier": 0.25, "embedding_multiplier": 3.0, "residual_multiplier": 0.5,
        "logits_scaling": 2.0}, {"attention.scale": 0.25, "embedding_scale": 3.0, "residual_scale": 0.5,
                                 "logit_scale": 2.0}),
    "olmo": ("olmo", "OlmoForCausalLM", "OlmoConfig", {**GROUPED, "clip_qkv": 2.0}, {"attention.clamp_kqv": 2.0}),
    "olmo2": ("olmo2", "Olmo2ForCausalLM", "Olmo2Config", GROUPED, {}),
    "qwen2": ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", {**GROUPED, "tie_word_embeddings": True}, {}),
    "qwen2 yarn": ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", {**GROUPED, "rope_parameters": YARN}, {
        "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 16}),
    "qwen3": ("qwen3", "Qwen3ForCausalLM", "Qwen3Config", {**GROUPED, "head_dim": 24}, {}),
    "stablelm": ("stablelm", "StableLmForCausalLM", "StableLmConfig", {
        **GROUPED, "partial_rotary_factor": 0.5, "qk_layernorm": True, "use_parallel_residual": True},
        {"rope.dimension_count": 8}),
    "stablelm biases": ("stablelm", "StableLmForCausalLM", "StableLmConfig", {
        **GROUPED, "partial_rotary_factor": 0.25, "use_qkv_bias": True}, {"rope.dimension_count": 4}),
    "phi2": ("phi2", "PhiForCausalLM", "PhiConfig", {**SIZES, "partial_rotary_factor": 0.5},
             {"rope.dimension_count": 8}),
    "phi3": ("phi3", "Phi3ForCausalLM", "Phi3Config", {**GROUPED, "sliding_window": 7},
             {"attention.sliding_window": 7}),
    "phi3 long": ("phi3", "Phi3ForCausalLM", "Phi3Config", {
        **GROUPED, "rope_parameters": LONG, "original_max_position_embeddings": 24},
        {"attention.sliding_window": 0, "rope.scaling.original_context_length": 24}),
    "gemma": ("gemma", "GemmaForCausalLM", "GemmaConfig", {**GROUPED, "num_key_value_heads": 1, "head_dim": 32}, {}),
    "gemma2": ("gemma2", "Gemma2ForCausalLM", "Gemma2Config", {
        **GROUPED, "head_dim": 32, "sliding_window": 8, "query_pre_attn_scalar": 32},
        {"attention.sliding_window": 8, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}),
    "gemma3": ("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", {
        **GROUPED, "num_hidden_layers": 7, "head_dim": 32, "sliding_window": 8, "query_pre_attn_scalar": 32},
        {"attention.sliding_window": 8, "rope.freq_base": 1e6}),
    "gptneox": ("gptneox", "GPTNeoXForCausalLM", "GPTNeoXConfig", {
        **SIZES, "rotary_pct": 0.25, "use_parallel_residual": False},
        {"rope.dimension_count": 4, "use_parallel_residual": False}),
    "falcon 7b": ("falcon", "FalconForCausalLM", "FalconConfig", {
        **SIZES, "ffn_hidden_size": 96, "multi_query": True, "num_kv_heads": 1}, {"attention.head_count_kv": 1}),
    "falcon 40b": ("falcon", "FalconForCausalLM", "FalconConfig", {
        **SIZES, "ffn_hidden_size": 96, "new_decoder_architecture": True, "num_kv_heads": 2},
        {"attention.head_count_kv": 2}),
    "bloom": ("bloom", "BloomForCausalLM", "BloomConfig", {
        "vocab_size": 61, "hidden_size": 32, "n_head": 4, "n_layer": 2},
        {"attention.head_count": 4, "block_count": 2, "context_length": 48, "feed_forward_length": 128}),
    "gpt2": ("gpt2", "GPT2LMHeadModel", "GPT2Config", GPT2, {
        "embedding_length": 32, "attention.head_count": 4, "block_count": 2, "context_length": 40,
        "feed_forward_length": 96}),
}
APART = {"gptneox": 4, "bloom": 4}  # heads


def written(case, path, kind="F32", also=None):
    """The model as the file that convert_hf_to_gguf.py would write, and the model; `kind`: of its matrices."""
    architecture, _, _, _, says = CASES[case]
    model, kind = random_model(*CASES[case][1:4], seed=5, spread=0.3), gguf.GGMLQuantizationType[kind]
    config, writer = model.config, gguf.GGUFWriter(path, architecture)
    layers = config.num_hidden_layers
    notes = {"block_count": layers, "context_length": config.max_position_embeddings if hasattr(
        config, "max_position_embeddings") else 0, "embedding_length": config.hidden_size,
        "attention.head_count": config.num_attention_heads,
        "feed_forward_length": getattr(config, "intermediate_size", 0)}
    if getattr(config, "num_key_value_heads", None):
        notes["attention.head_count_kv"] = config.num_key_value_heads
    if getattr(config, "head_dim", None) and architecture != "falcon":
        notes |= {"attention.key_length": config.head_dim, "attention.value_length": config.head_dim}
    for ours, theirs in (("rms_norm_eps", "attention.layer_norm_rms_epsilon"),
                         ("layer_norm_eps", "attention.layer_norm_epsilon"),
                         ("layer_norm_epsilon", "attention.layer_norm_epsilon")):
        if getattr(config, ours, None):
            notes[theirs] = getattr(config, ours)
    rope = getattr(config, "rope_parameters", None) or {}
    if "rope_theta" in rope:
        notes["rope.freq_base"] = rope["rope_theta"]
    for key, value in (notes | says).items():
        put = {str: writer.add_string, int: writer.add_uint32, bool: writer.add_bool, float: writer.add_float32}
        put[type(value)](f"{architecture}.{key}", value)
    for name, id in (("bos", 1), ("eos", 2), *([("padding", 0)] if "pad_token_id" in CASES[case][3] else [])):
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", id)
    for name, values in converted(architecture, model).items():
        whole = values.ndim == 2 and "norm" not in name
        packed = gguf.quants.quantize(values, kind if whole else gguf.GGMLQuantizationType.F32)
        writer.add_tensor(name, packed, raw_dtype=kind if whole else gguf.GGMLQuantizationType.F32)
    if also:
        also(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def converted(architecture, model):
    """Tensors by llama.cpp's names, changed as by its converter, with the gguf package's own map of names."""
    import transformers as hf

    config = model.config
    arch = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == architecture)
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    found, rows = {}, {}
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        values = tensor.numpy()
        if ".norms." in name:  # StableLM 2 has a norm for each head
            rows.setdefault(name.split(".norms.")[0], []).append(values)
            continue
        if architecture in ("llama", "granite", "olmo") and ("q_proj" in name or "k_proj" in name):
            heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads
            values = values.reshape(heads, 2, -1, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            values = values + np.float32(1)
        if architecture == "gpt2" and values.ndim == 2 and ".h." in name:
            values = values.T
        if architecture in APART and "query_key_value" in name:
            apart = values.reshape(APART[architecture], 3, -1, *values.shape[1:])
            values = np.concatenate([apart[:, i].reshape(-1, *values.shape[1:]) for i in range(3)])
        if architecture == "falcon" and "query_key_value" in name:
            served = config.num_kv_heads if config.new_decoder_architecture else 1
            apart = values.reshape(served, config.num_attention_heads // served + 2, -1, values.shape[1])
            values = np.concatenate([part.reshape(-1, values.shape[1]) for part in
                                     (apart[:, :-2], apart[:, -2], apart[:, -1])])
        if architecture == "bloom":
            name = name.removeprefix("transformer.")
        found[names.get_name(name, try_suffixes=(".weight", ".bias"))] = np.ascontiguousarray(values)
    for name, values in rows.items():
        found[names.get_name(f"{name}.weight", try_suffixes=(".weight",))] = np.stack(values)
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") == "llama3":
        plain = hf.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")[0]
        turns = rope["rope_theta"] ** -(torch.arange(0, config.head_dim, 2) / config.head_dim)
        found["rope_freqs.weight"] = (turns / plain).numpy()
    if rope.get("rope_type") == "longrope":
        for length in ("long", "short"):
            found[f"rope_factors_{length}.weight"] = np.array(rope[f"{length}_factor"], np.float32)
    return found


def state_of(case, model):
    """Its weights under the names of its files."""
    state = {name: tensor for name, tensor in model.state_dict().items()
             if name != "lm_head.weight" or not model.config.tie_word_embeddings}
    if CASES[case][0] == "gptneox":
        state["embed_out.weight"] = state.pop("lm_head.weight")
    return state


@pytest.mark.parametrize("case", CASES)
def test_weights_are_the_model_s_and_the_configuration_gives_its_logits(case, tmp_path):
    import transformers as hf

    model = written(case, tmp_path / "a.gguf")
    file, state = GgufFile(tmp_path / "a.gguf"), state_of(case, model)
    assert file.tensors.keys() == state.keys()
    for name, tensor in state.items():
        assert file.tensors[name].shape == tuple(tensor.shape), name
        torch.testing.assert_close(file.read(name), tensor, rtol=0, atol=2e-7, msg=lambda text, name=name: name + text)
    again = type(model)._from_config(hf.AutoConfig.for_model(**file.config)).eval()
    state = {"lm_head.weight" if name == "embed_out.weight" else name: file.read(name) for name in file.tensors}
    missing, unexpected = again.load_state_dict(state, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}
    again.tie_weights()
    for length in (1, 7, 31, 45):
        ids = torch.randint(0, 61, (1, min(length, 40)), generator=torch.Generator().manual_seed(length))
        with torch.no_grad():
            theirs, ours = model(input_ids=ids).logits, again(input_ids=ids).logits
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    assert (file.config["bos_token_id"], file.config["eos_token_id"]) == (1, 2)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
def test_quantised_weights_are_what_the_package_unpacks(kind, tmp_path):
    model = written("llama", tmp_path / "a.gguf", kind)
    file, state = GgufFile(tmp_path / "a.gguf"), model.state_dict()
    assert file.quantisation == kind and file.tensors["model.layers.1.mlp.up_proj.weight"].dtype == kind
    stored = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type)
              for tensor in gguf.GGUFReader(tmp_path / "a.gguf").tensors}
    assert torch.equal(file.read("lm_head.weight"), torch.from_numpy(stored["output.weight"].astype(np.float32)))
    coarse = {"F16": 1e-3, "BF16": 1e-2, "Q8_0": 1e-2}.get(kind, 0.2)
    for name, tensor in state.items():
        assert float((file.read(name) - tensor).abs().max()) < coarse, name


@pytest.mark.parametrize("case", ["llama", "qwen2", "qwen3", "phi3", "gemma2", "gpt2", "bloom", "stablelm biases"])
def test_weights_are_those_that_transformers_reads(case, tmp_path):
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    model = written(case, tmp_path / "a.gguf", "Q8_0")
    theirs = load_gguf_checkpoint(str(tmp_path / "a.gguf"), return_tensors=True, model_to_load=model)["tensors"]
    file = GgufFile(tmp_path / "a.gguf")
    assert theirs and theirs.keys() >= file.tensors.keys() - {"lm_head.weight"}
    for name in file.tensors.keys() & theirs.keys():
        assert torch.equal(file.read(name), theirs[name]), name


def test_header_says_what_the_package_reads(tmp_path):
    def more(writer):
        writer.add_array("x.words", ["é", "", "b c"])
        writer.add_array("x.counts", [1, -2, 3])
        writer.add_float64("x.wide", 0.1)
        writer.add_bool("x.yes", True)
        writer.add_custom_alignment(64)

    written("llama", tmp_path / "a.gguf", "Q4_0", also=more)
    ours, theirs = read_contents(tmp_path / "a.gguf"), gguf.GGUFReader(tmp_path / "a.gguf")
    assert ours.notes == {name: field.contents() for name, field in theirs.fields.items() if "GGUF." not in name}
    assert ours.tensors.keys() == {tensor.name for tensor in theirs.tensors}
    for tensor in theirs.tensors:
        one = ours.tensors[tensor.name]
        assert (one.kind, one.start, one.size, one.shape) == (
            tensor.tensor_type.name, tensor.data_offset, tensor.n_bytes, tuple(int(n) for n in tensor.shape[::-1]))


def test_what_it_says_of_itself(tmp_path):
    def notes(writer):
        writer.add_name("A model")
        writer.add_license("apache-2.0")
        writer.add_chat_template("{{ messages }}")
        writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_K_M)

    written("qwen2", tmp_path / "a.gguf", also=notes)
    file = GgufFile(tmp_path / "a.gguf")
    assert (file.name, file.licence, file.chat_template, file.quantisation) == (
        "A model", "apache-2.0", "{{ messages }}", "Q4_K_M")
    assert file.tokenizer_json() is None and file.tokenizer_kind == "none"


@each_row(("named", "ends"), [
    ({}, {2}), ({"eot": 7}, {2, 7}), ({"eot": 7, "eom": 8}, {2, 7, 8}), ({"eot": 2}, {2}), ({"eom": 61}, {2}),
    ({"fim_pad": 9, "fim_rep": 10, "fim_sep": 11, "fim_pre": 12}, {2, 9, 10, 11})])
def test_every_token_that_is_named_as_an_end_is_one(tmp_path, named, ends):
    path = tmp_path / "a.gguf"

    def notes(writer):
        for name, id in named.items():
            writer.add_uint32(f"tokenizer.ggml.{name}_token_id", id)

    written("llama", path, also=notes)
    config = plan_of(GgufFile(path).config, {}).config
    assert {config.eos_id, *config.end_ids} == ends


def test_special_tokens_have_the_names_that_templates_give_them(tmp_path):
    written("llama", tmp_path / "a.gguf", also=words)
    assert GgufFile(tmp_path / "a.gguf").special_tokens == {"bos_token": "t1", "eos_token": "t2",
                                                            "pad_token": "t0"}


def everything(path):
    """Reads every tensor of a file."""
    file = GgufFile(path)
    assert file.config["model_type"] and file.quantisation
    for name in file.tensors:
        assert torch.isfinite(file.read(name)).all()
    file.tokenizer_json()
    return file


def words(writer):
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"t{i}" for i in range(58)] + ["a", "b", "ab"])
    writer.add_token_types([1] * 61)
    writer.add_token_merges(["a b"])


def test_mutated_files_are_refused_or_read(tmp_path):
    path, bad = tmp_path / "a.gguf", tmp_path / "b.gguf"
    written("llama 3.1", path, "Q4_0", also=words)
    content, chance = path.read_bytes(), random.Random(3)
    header = min(tensor.start for tensor in read_contents(path).tensors.values())
    refused = []
    for number in range(400):
        hostile = bytearray(content)
        match number % 5:
            case 0:
                del hostile[chance.randrange(len(hostile)):]
            case 1:
                hostile[chance.randrange(header)] ^= 1 << chance.randrange(8)
            case 2:
                at = chance.randrange(4, header - 8)
                hostile[at:at + 8] = struct.pack("<Q", chance.choice([0, 1, 2**16, 2**31, 2**40, 2**63, 2**64 - 1]))
            case 3:
                at = chance.randrange(4, header - 4)
                hostile[at:at + 4] = struct.pack("<I", chance.choice([0, 1, 7, 9, 31, 2**16, 2**31, 2**32 - 1]))
            case 4:
                at, other = chance.randrange(header), chance.randrange(header)
                hostile[at:at + 40] = hostile[other:other + 40]
        bad.write_bytes(hostile)
        try:
            everything(bad)
        except Refused as error:
            refused.append(str(error))
    assert len(refused) > 250
    assert all(len(sentence) < 400 and sentence.isprintable() for sentence in refused)


@pytest.mark.parametrize(("change", "message"), [
    (lambda head: head[:10], "not a GGUF file"), (lambda head: b"GGML" + head[4:], "not a GGUF file"),
    (lambda head: head[:4] + struct.pack("<I", 1) + head[8:], "GGUF of version 1"),
    (lambda head: head[:4] + struct.pack(">I", 3) + head[8:], "the other byte order"),
    (lambda head: head[:8] + struct.pack("<Q", 2**40) + head[16:], "would have 1,099,511,627,776 tensors"),
    (lambda head: head[:24] + struct.pack("<Q", 2**60) + head[32:], "a text in its header would have"),
    (lambda head: head + b"\0" * 32, "its header describes"),
    (lambda head: head[:-40], "its header describes"),
    (lambda head: head.replace(b"blk.1.attn_k.weight", b"blk.1.attn_v.weight"), "twice"),
    (lambda head: head.replace(b"blk.1.attn_k.weight", b"blk.1.attn_z.weight"), "for which a model"),
    (lambda head: head.replace(b"blk.1.attn_k.weight", b"blk.9.attn_k.weight"), "weights of 3 layers"),
    (lambda head: head.replace(b"token_embd", b"token_embt"), "has no weights token_embd.weight"),
    (lambda head: head.replace(b"architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama",
                               b"architecture\x08\0\0\0\x05\0\0\0\0\0\0\0mamba"), "the architecture mamba, and llama"),
])
def test_what_is_refused_and_why(change, message, tmp_path):
    written("llama", tmp_path / "a.gguf")
    (tmp_path / "b.gguf").write_bytes(change((tmp_path / "a.gguf").read_bytes()))
    with pytest.raises(Refused, match=message):
        everything(tmp_path / "b.gguf")


def test_overlapping_tensors_and_unknown_types_are_refused(tmp_path):
    written("llama", tmp_path / "a.gguf")
    content = (tmp_path / "a.gguf").read_bytes()
    after = content.index(b"blk.1.attn_k.weight") + len("blk.1.attn_k.weight") + 4 + 16  # its axes are behind it
    kind, offset = struct.unpack_from("<IQ", content, after)
    for changed, message in (((kind, 0), "overlap or leave gaps"), ((kind, offset + 32), "overlap or leave gaps"),
                             ((999, offset), "the type 999, which is not"), ((24, offset), "overlap or leave gaps")):
        (tmp_path / "b.gguf").write_bytes(content[:after] + struct.pack("<IQ", *changed) + content[after + 12:])
        with pytest.raises(Refused, match=message):
            GgufFile(tmp_path / "b.gguf")


def test_a_part_of_a_model_experts_and_numbers_that_no_weight_is_are_refused(tmp_path):
    for note, says in ((lambda writer: writer.add_uint16("split.count", 3), "one of 3 parts of a model; join them"),
                       (lambda writer: writer.add_expert_count(8), "needs experts to choose among")):
        written("llama", tmp_path / "a.gguf", also=note)
        with pytest.raises(Refused, match=says):
            GgufFile(tmp_path / "a.gguf")
    written("llama", tmp_path / "a.gguf")
    place = read_contents(tmp_path / "a.gguf").tensors["blk.0.ffn_up.weight"].start
    content = bytearray((tmp_path / "a.gguf").read_bytes())
    for number in (float("nan"), float("inf"), 1e30):
        content[place:place + 4] = struct.pack("<f", number)
        (tmp_path / "b.gguf").write_bytes(content)
        with pytest.raises(Refused, match=r"model.layers.0.mlp.up_proj.weight holds"):
            GgufFile(tmp_path / "b.gguf").read("model.layers.0.mlp.up_proj.weight")
