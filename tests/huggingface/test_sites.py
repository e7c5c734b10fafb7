"""Sites and changes of imported models, beside hooks on the models of the transformers package."""

from functools import partial
from operator import attrgetter

import pytest
import torch
from torch import Tensor, nn

import transformer
from tests.huggingface.cases import SEQUENCES, SMALL, T5
from tests.huggingface.random_models import save_random
from transformer.huggingface.comparison import open_theirs
from transformer.huggingface.importing import import_model
from transformer.model.sites import Place, places

SOURCE, TARGET = "5 17 23 8 41 9", "12 30 7 22"
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
GPT2 = {"vocab_size": 99, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64, "bos_token_id": 1,
        "eos_token_id": 2}


# Where a family has our sites: what goes into a module, or what comes out of it, or which third of that.
SITES = {
    "gpt2": {"resid_pre": "{layer} in", "resid_post": "{layer} out", "resid_mid": "{layer}.ln_2 in",
             "z": "{layer}.attn.c_proj in", "q": "{layer}.attn.c_attn out 0", "k": "{layer}.attn.c_attn out 1",
             "v": "{layer}.attn.c_attn out 2", "attn_out": "{layer}.attn.c_proj out",
             "mlp_pre": "{layer}.mlp.c_fc out", "mlp_post": "{layer}.mlp.c_proj in",
             "mlp_out": "{layer}.mlp.c_proj out", "embed": "transformer.wte out", "final": "transformer.ln_f out"},
    "llama": {"resid_pre": "{layer} in", "resid_post": "{layer} out", "z": "{layer}.self_attn.o_proj in",
              "resid_mid": "{layer}.post_attention_layernorm in", "v": "{layer}.self_attn.v_proj out",
              "attn_out": "{layer}.self_attn.o_proj out", "mlp_pre": "{layer}.mlp.gate_proj out",
              "mlp_post": "{layer}.mlp.down_proj in", "mlp_out": "{layer}.mlp.down_proj out",
              "embed": "model.embed_tokens out", "final": "model.norm out"},
    "bert": {"resid_pre": "{layer} in", "resid_post": "{layer} out", "resid_mid": "{layer}.intermediate.dense in",
             "z": "{layer}.attention.output.dense in", "q": "{layer}.attention.self.query out",
             "k": "{layer}.attention.self.key out", "v": "{layer}.attention.self.value out",
             "attn_out": "{layer}.attention.output.dense out", "mlp_pre": "{layer}.intermediate.dense out",
             "mlp_post": "{layer}.output.dense in", "mlp_out": "{layer}.output.dense out"},
    "marian": {"resid_pre": "{layer} in", "resid_post": "{layer} out", "resid_mid": "{attention}_layer_norm out",
               "z": "{attention}.out_proj in", "q": "{attention}.q_proj out", "k": "{attention}.k_proj out",
               "v": "{attention}.v_proj out", "attn_out": "{attention}.out_proj out", "mlp_pre": "{layer}.fc1 out",
               "mlp_post": "{layer}.fc2 in", "mlp_out": "{layer}.fc2 out"},
    "t5": {"resid_pre": "{layer} in", "resid_post": "{layer} out", "resid_mid": "{part} out", "z": "{attention}.o in",
           "q": "{attention}.q out", "k": "{attention}.k out", "v": "{attention}.v out",
           "attn_out": "{attention}.o out", "mlp_pre": "{last}.DenseReluDense.wi out",
           "mlp_post": "{last}.DenseReluDense.wo in", "mlp_out": "{last}.DenseReluDense.wo out",
           "final": "{stack}.final_layer_norm out"}}
LAYERS = {"gpt2": "transformer.h", "llama": "model.layers", "bert": "bert.encoder.layer",
          "marian": "model.{stack}.layers", "t5": "{stack}.block"}


def where(family: str, place: Place) -> tuple[str, str, int | None] | None:
    """A module of theirs, "in" or "out", and which third of what it makes; None where no module of theirs has it."""
    if place.site not in SITES[family]:
        return None
    crosses, stack = place.kind == "cross", "encoder" if place.kind == "encoder" else "decoder"
    layer = f"{LAYERS[family].format(stack=stack)}.{place.layer}"
    part = f"{layer}.layer.{1 if crosses else 0}"
    attention = {"marian": f"{layer}.{'encoder_attn' if crosses else 'self_attn'}",
                 "t5": f"{part}.{'EncDecAttention' if crosses else 'SelfAttention'}"}.get(family)
    module, side, *which = SITES[family][place.site].format(
        layer=layer, part=part, attention=attention, stack=stack,
        last=f"{layer}.layer.{1 if stack == 'encoder' else 2}").split()
    return module, side, int(which[0]) if which else None


FAMILIES = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**SMALL, "num_key_value_heads": 2}),
    "bert": ("BertForMaskedLM", "BertConfig", SMALL),
    "marian": ("MarianMTModel", "MarianConfig", {**SEQUENCES, "pad_token_id": 0, "decoder_start_token_id": 0,
                                                  "eos_token_id": 2, "forced_eos_token_id": None}),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5),
}


@pytest.fixture(scope="module", params=FAMILIES)
def imported(request, tmp_path_factory):
    """Our checkpoint, their model, and where their modules have our sites."""
    folder = tmp_path_factory.mktemp("theirs")
    save_random(folder, *FAMILIES[request.param])
    ckpt = transformer.load(import_model(folder, tmp_path_factory.mktemp("ours") / "model"))
    return ckpt, open_theirs(ckpt, folder), partial(where, request.param)


def inputs(run: transformer.Run) -> dict[str, Tensor]:
    if run.batch.src is None:
        return {"input_ids": run.batch.tgt}
    return {"input_ids": run.batch.src, **({} if run.batch.tgt is None else {"decoder_input_ids": run.batch.tgt})}


def first(value: object) -> Tensor:
    return value[0] if isinstance(value, tuple) else value


def shaped(value: Tensor, place: Place, which: int | None, config) -> Tensor:
    """A tensor of theirs (1, T, n) with the axes of our site, without the text's."""
    value = value[0] if which is None else value[0].chunk(3, -1)[which]
    if "head" in place.axes:
        return value.unflatten(-1, (config.groups if place.site in "kv" else config.n_heads, -1)).transpose(0, 1)
    return value


def text_of(ckpt) -> tuple[str, str | None]:
    return SOURCE, TARGET if ckpt.config.task == "translation" else None


def test_every_site_is_what_a_hook_on_their_module_sees(imported):
    ckpt, theirs, find = imported
    run = transformer.run(ckpt, *text_of(ckpt), capture="*")
    found: dict[str, Tensor] = {}
    handles = []
    for name, place in places(ckpt.config).items():
        if (there := find(place)) is None:
            continue
        module, side, which = there

        def keep(module, given, keywords, made, *, name=name, place=place, side=side, which=which):
            value = first(made) if side == "out" else given[0] if given else keywords["hidden_states"]
            found[name] = shaped(value, place, which, ckpt.config).clone()

        handles.append(attrgetter(module)(theirs).register_forward_hook(keep, with_kwargs=True))
    with torch.no_grad():
        out = theirs(**inputs(run), output_attentions=True)
    for handle in handles:
        handle.remove()
    assert len(found) >= 7 * sum(ckpt.config.stacks.values())
    for name, expected in found.items():
        scale = 1.0
        if name.endswith(".embed"):  # theirs is scaled afterwards
            scale = ckpt.config.embedding_factor
        torch.testing.assert_close(run[name], expected * scale, **CLOSE, msg=lambda said, name=name: f"{name}: {said}")
    names = {"encoder": ("encoder_attentions", "attentions"), "decoder": ("decoder_attentions", "attentions"),
             "cross": ("cross_attentions",)}
    for kind in ckpt.config.kinds:
        attentions = next(getattr(out, one) for one in names[kind] if getattr(out, one, None) is not None)
        for layer, weights in enumerate(attentions):
            torch.testing.assert_close(run[f"{kind}.{layer}.pattern"], weights[0], **CLOSE)
    torch.testing.assert_close(run.logits, out.logits[0], **CLOSE)


@pytest.mark.parametrize("site", ["resid_pre", "z", "mlp_out", "mlp_post", "attn_out", "v"])
def test_a_change_is_what_a_hook_that_changes_their_module_does(imported, site):
    ckpt, theirs, find = imported
    plain = transformer.run(ckpt, *text_of(ckpt))
    for kind in ckpt.config.kinds:
        place = places(ckpt.config).get(f"{kind}.1.{site}")
        if place is None or (there := find(place)) is None:
            continue
        module, side, which = there
        heads = [1] if "head" in place.axes else None
        found = transformer.run(ckpt, *text_of(ckpt), change=transformer.scale(place.name, -0.5, rows=[1, 2],
                                                                               heads=heads)).logits

        def scaled(value: Tensor, place=place, which=which, heads=heads) -> Tensor:
            value = value.clone()
            part = value if which is None else value.chunk(3, -1)[which]  # a view of it
            if heads is None:
                part[:, 1:3] *= -0.5
            else:
                count = ckpt.config.groups if place.site in "kv" else ckpt.config.n_heads
                part.unflatten(-1, (count, -1))[:, 1:3, heads] *= -0.5
            return value

        def before(module, given, keywords, scaled=scaled):
            if given:
                return (scaled(given[0]), *given[1:]), keywords
            return given, {**keywords, "hidden_states": scaled(keywords["hidden_states"])}

        def after(module, given, made, scaled=scaled):
            return (scaled(made[0]), *made[1:]) if isinstance(made, tuple) else scaled(made)

        at: nn.Module = attrgetter(module)(theirs)
        handle = (at.register_forward_hook(after) if side == "out" else
                  at.register_forward_pre_hook(before, with_kwargs=True))
        with torch.no_grad():
            expected = theirs(**inputs(plain)).logits[0]
        handle.remove()
        torch.testing.assert_close(found, expected, **CLOSE, msg=lambda said, place=place: f"{place}: {said}")
        assert not torch.allclose(found, plain.logits, atol=1e-3), place


def test_patching_is_what_their_hook_does(imported):
    ckpt, theirs, find = imported
    stack = next(reversed(ckpt.config.stacks))
    place = places(ckpt.config)[f"{stack}.1.resid_pre"]
    other = transformer.run(ckpt, "30 2 61 7 44 9" if ckpt.config.task != "translation" else SOURCE,
                            "9 80 81 3" if ckpt.config.task == "translation" else None, capture="*")
    found = transformer.run(ckpt, *text_of(ckpt), change=transformer.replace(place.name, other, rows=[2]))
    module, _, _ = find(place)

    def patch(module, given, keywords):
        rows = (given[0] if given else keywords["hidden_states"]).clone()
        rows[0, 2] = other[place.name][2]
        return ((rows, *given[1:]), keywords) if given else (given, {**keywords, "hidden_states": rows})

    handle = attrgetter(module)(theirs).register_forward_pre_hook(patch, with_kwargs=True)
    with torch.no_grad():
        expected = theirs(**inputs(found)).logits[0]
    handle.remove()
    torch.testing.assert_close(found.logits, expected, **CLOSE)
