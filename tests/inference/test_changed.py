"""Interventions: against masks, against the other run, against zeroed weights; cached and not, alone and together."""

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import orjson
import pytest
import torch

import transformer
from tests.rows import each_row
from transformer import add, cut, force, freeze, replace, scale, uniform
from transformer.analysis.token_inputs import inputs_of_text
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.changed import Changes, parsed
from transformer.inference.forward import Batch, forward
from transformer.model.changes import HOWS, Change
from transformer.model.masks import causal_mask
from transformer.model.sites import places
from transformer.settings.config import Rotary

TEXT, OTHER, TARGET, SECOND = "I am cold.", "He is tall", "Go on.", "Who is"  # pairs of one length, read as characters
CLOSE = {"atol": 2e-5, "rtol": 2e-5}
SHAPES = {
    "translates": {}, "writes": {"encoder_layers": 0}, "post-norm": {"norm_position": "post"},
    "rotary, grouped, gated": {"encoder_layers": 0, "positions": "rotary", "kv_heads": 1, "gated": True},
    "dynamic": {"encoder_layers": 0, "positions": "rotary", "rotary": Rotary(scaling="dynamic", learned_len=12)},
    "relative": {"positions": "relative"}, "window": {"encoder_layers": 0, "window": 4},
}


@pytest.fixture(params=SHAPES)
def ckpt(request, make_checkpoint) -> Checkpoint:
    return make_checkpoint(**SHAPES[request.param])


@pytest.fixture
def both(make_checkpoint) -> Checkpoint:
    return make_checkpoint()


def pair(ckpt: Checkpoint, capture: object = ("*", "*.result")) -> tuple[transformer.Run, transformer.Run]:
    """Two texts of the same number of tokens."""
    translates = ckpt.config.task == "translation"
    return tuple(transformer.run(ckpt, text, target if translates else None, capture=capture)
                 for text, target in ((TEXT, TARGET), (OTHER, SECOND)))


def changed(run: transformer.Run, *change: Change) -> transformer.Run:
    return transformer.run(run.ckpt, run.texts[0], run.targets[0], change=change)


def test_patching_a_run_with_itself_changes_no_bit(ckpt):
    one, _ = pair(ckpt)
    for name in one.names:
        if name != "logits":
            assert torch.equal(changed(one, replace(name, one)).logits, one.logits), name
    assert torch.equal(changed(one, *(replace(name, one) for name in one.names if name != "logits")).logits, one.logits)


def test_patching_everything_gives_the_other_run_bit_for_bit(ckpt):
    one, other = pair(ckpt)
    assert [len(run.tokens("src")) for run in (one, other)] == [len(one.tokens("src"))] * 2
    assert one.logits.shape == other.logits.shape and not torch.equal(one.logits, other.logits)
    stacks = [replace(f"{stack}.0.resid_pre", other) for stack in ckpt.config.stacks]
    assert torch.equal(changed(one, *stacks).logits, other.logits)
    everything = [replace(name, other) for name in one.names if name != "logits"]
    assert torch.equal(changed(one, *everything).logits, other.logits)
    assert torch.equal(changed(one, replace("decoder.final", other)).logits, other.logits)


@pytest.mark.slow
def test_patching_a_row_is_patching_it_by_hand(ckpt):
    one, other = pair(ckpt)
    last = ckpt.config.decoder_layers - 1
    name = f"decoder.{last}.resid_post"
    found = changed(one, replace(name, other, rows=[1, 2])).logits
    expected = one.logits.clone()
    expected[[1, 2]] = other.logits[[1, 2]]  # after the last layer, no row depends on another
    torch.testing.assert_close(found, expected, **CLOSE)
    taken = changed(one, replace(name, {"text": one.texts[0], **({"target": TARGET} if one.targets[0] else {}),
                                        "rows": [0]}, rows=3)).logits
    torch.testing.assert_close(taken[3], one.logits[0], **CLOSE)
    own = changed(one, replace(name, {"rows": [0]}, rows=3)).logits
    assert torch.equal(own, taken)


def test_one_head_or_the_pattern_of_another_text_is_patched_alone(both):
    one, other = pair(both)
    value = one["cross.1.z"].clone()
    value[1] = other["cross.1.z"][1]
    expected = changed(one, replace("cross.1.z", value)).logits
    assert torch.equal(changed(one, replace("cross.1.z", other, heads=1)).logits, expected)
    assert torch.equal(changed(one, replace("X1H1", other)).logits, expected)
    assert torch.equal(changed(one, replace("decoder_blocks.1.cross_attn.hook_z", other, heads=[1])).logits, expected)
    found = transformer.run(both, TEXT, TARGET, capture="*", change=replace("cross.0.pattern", other))
    assert torch.equal(found["cross.0.pattern"], other["cross.0.pattern"])
    torch.testing.assert_close(found["cross.0.z"], other["cross.0.pattern"] @ one["cross.0.v"], **CLOSE)


def test_texts_of_other_lengths_are_refused_or_meet_in_rows(both, make_checkpoint):
    one = transformer.run(both, TEXT, TARGET)
    longer = transformer.run(both, TEXT, "Who is it?", capture="*")
    with pytest.raises(ValueError, match="decoder.0.resid_pre has 11 rows in the source and 7 here"):
        changed(one, replace("decoder.0.resid_pre", longer))
    with pytest.raises(ValueError, match="give a text of the same length"):
        transformer.run(both, "Go.", TARGET, change=replace("cross.0.pattern", longer))
    assert changed(one, replace("decoder.0.resid_pre", longer, rows=[0, 1])).logits.shape == one.logits.shape
    with pytest.raises(ValueError, match="which has other sizes than"):
        changed(one, replace("decoder.0.resid_pre", transformer.run(make_checkpoint(d_ff=8), TEXT, TARGET)))


def test_frozen_sites_let_no_change_pass(ckpt):
    one, _ = pair(ckpt, ())
    later = [freeze("decoder.*.resid_post"), scale(f"{ckpt.config.kinds[-1]}.*.z", 0)]
    assert not torch.equal(changed(one, later[1]).logits, one.logits)
    assert torch.equal(changed(one, *later).logits, one.logits)
    last = changed(one, freeze("decoder.final"), scale("*.z", 0))
    assert torch.equal(last.logits, one.logits)


def test_a_path_is_patched(both):
    """Senders are replaced, all other heads and the feed-forward parts are frozen, and what receives is replaced by
    what came of it: Wang et al. 2023, appendix B, by hand."""
    one, other = pair(both)
    changes = [freeze("*.mlp_out"), freeze("*.z"), replace("D0H1.z", other)]
    found = transformer.run(both, TEXT, TARGET, capture="cross.1.q", change=changes)["cross.1.q"]
    z = one["decoder.0.z"].clone()
    z[1] = other["decoder.0.z"][1]
    by_hand = transformer.run(both, TEXT, TARGET, capture="cross.1.q", change=[
        replace("decoder.0.z", z), *(replace(name, one) for name in one.names
                                     if name.endswith("mlp_out") or (name.endswith(".z") and name != "decoder.0.z"))])
    assert torch.equal(found, by_hand["cross.1.q"]) and not torch.equal(found, one["cross.1.q"])


def test_cut_edges_equal_a_mask(make_checkpoint):
    ckpt = make_checkpoint(encoder_layers=0)
    run = transformer.run(ckpt, TEXT, capture="*", change=cut("decoder.*", edges=[(3, 0), (5, 2), (5, 5)]))
    mask = causal_mask(10, 10).clone()
    mask[0, 0, 3, 0] = mask[0, 0, 5, 2] = mask[0, 0, 5, 5] = False
    expected = ckpt.model.decode(run.batch.tgt, mask=mask, readable=True)
    assert torch.equal(run.logits, ckpt.model.project(expected.x)[0])
    for layer in range(2):
        assert torch.equal(run[f"decoder.{layer}.scores"], expected.attention[layer].scores[0])


@each_row("kind", ["encoder", "decoder", "cross"])
def test_patterns_are_what_was_asked_for(both, kind):
    plain = transformer.run(both, TEXT, TARGET, capture="*")[f"{kind}.1.pattern"]
    allowed = plain > 0

    def pattern(change: Change) -> torch.Tensor:
        return transformer.run(both, TEXT, TARGET, capture=f"{kind}.1.pattern", change=change)[f"{kind}.1.pattern"]

    even = pattern(uniform(f"{kind}.1", heads=1, rows=[2, 3]))
    torch.testing.assert_close(even[1, 2:4], (allowed / allowed.sum(-1, keepdim=True))[1, 2:4])
    assert torch.equal(even[0], plain[0]) and torch.equal(even[1, 4:], plain[1, 4:])
    forced = pattern(force(f"{kind}.1", [0, 2], heads=0))
    shares = torch.zeros_like(plain[0])
    shares[:, [0, 2]] = 0.5
    if kind == "decoder":
        shares[:2, 0], shares[:2, 2] = 1, 0  # what comes later is not seen
    torch.testing.assert_close(forced[0], shares)
    assert torch.equal(forced[1], plain[1])
    left = pattern(cut(f"{kind}.1", keys=[1], rows=[3], renormalise=False))
    assert torch.equal(left[:, 3], plain[:, 3].index_fill(1, torch.tensor([1]), 0))
    assert torch.equal(left[:, 4:], plain[:, 4:])
    again = pattern(cut(f"{kind}.1", keys=[1], rows=[3]))
    torch.testing.assert_close(again[:, 3], left[:, 3] / left[:, 3].sum(-1, keepdim=True))


@pytest.mark.slow
def test_means_and_draws_are_of_the_texts_named_or_of_the_held_out_ones_of_the_checkpoint(both, shipped, monkeypatch):
    monkeypatch.setattr("transformer.inference.changed.AVERAGED", 8)
    texts = [TEXT, "Go on.", "We can go home."]
    rows = torch.cat([transformer.run(both, text, capture="encoder.1.resid_pre")["encoder.1.resid_pre"]
                      for text in texts])
    one = transformer.run(both, TEXT, TARGET)
    found = changed(one, replace("encoder.1.resid_pre", {"texts": texts}))
    torch.testing.assert_close(found.logits, changed(one, replace("encoder.1.resid_pre", rows.mean(0))).logits, **CLOSE)
    zero = changed(one, replace("encoder.1.resid_pre", "zero"))
    assert torch.equal(zero.logits, changed(one, scale("encoder.1.resid_pre", 0)).logits)
    ckpt = shipped("punctuate")
    plain = transformer.run(ckpt, "I am cold")
    for word in ("mean", "resample"):
        once, again = (changed(plain, replace("encoder.0.mlp_out", word)).logits for _ in range(2))
        assert torch.equal(once, again) and not torch.equal(once, plain.logits)


def test_a_vector_is_added_as_often_as_was_said_and_changes_act_in_the_order_in_which_they_are_given(both):
    one, vector = transformer.run(both, TEXT, TARGET, capture="decoder.0.resid_post"), torch.linspace(-1, 1, 16)
    found = changed(one, add("decoder.0.resid_post", vector, factor=-2, rows=[1, 4]))
    value = one["decoder.0.resid_post"].clone()
    value[[1, 4]] -= 2 * vector
    assert torch.equal(found.logits, changed(one, replace("decoder.0.resid_post", value)).logits)
    first = changed(one, add("decoder.0.mlp_out", vector), scale("decoder.0.mlp_out", 0))
    last = changed(one, scale("decoder.0.mlp_out", 0), add("decoder.0.mlp_out", vector))
    assert torch.equal(first.logits, changed(one, scale("decoder.0.mlp_out", 0)).logits)
    assert torch.equal(last.logits, changed(one, replace("decoder.0.mlp_out", vector)).logits)


DECODED = {
    "scale": lambda one: scale("*.1.z", 0.5, heads=[1]),
    "row": lambda one: scale("decoder.0.resid_mid", 3, rows=[2, 9]),
    "cut": lambda one: cut("decoder.*", keys=[0, 3]),
    "edges": lambda one: cut("decoder.1", edges=[(4, 1), (8, 0)]),
    "kept": lambda one: cut("decoder.0", keys=[0], renormalise=False),
    "force": lambda one: force("decoder.1", [1, 2]),
    "uniform": lambda one: uniform("decoder.*", heads=[0]),
    "add": lambda one: add("decoder.1.resid_pre", one, factor=2, rows=[0]),
    "replace": lambda one: replace("decoder.0.mlp_out", one, rows=[0, 1]),
    "text": lambda one: replace("decoder.0.z", {"text": one.texts[0], "rows": [0]}, heads=[0]),
    "own": lambda one: replace("decoder.1.resid_pre", {"rows": [0]}, rows=[1, 8]),
    "freeze": lambda one: [scale("decoder.0.z", 0), freeze("decoder.0.mlp_out"), freeze("decoder.1.pattern")],
    "keys": lambda one: scale("decoder.*.k", 0, rows=[1]),
    "values": lambda one: replace("decoder.*.v", "zero", rows=[2, 9]),
    "result": lambda one: scale("decoder.*.result", 0.2, heads=[1]),
    "drawn": lambda one: replace("decoder.1.mlp_out", {"texts": [TEXT, OTHER], "seed": 3}),
    "scores": lambda one: scale("decoder.0.scores", 0.5),
    "embedding": lambda one: scale("decoder.embed", 0, rows=[1]),
    "final": lambda one: add("decoder.final", torch.ones(16)),
}


@pytest.fixture
def whole(ckpt) -> transformer.Run:
    return transformer.run(ckpt, TEXT, TARGET if ckpt.config.task == "translation" else None, capture="*")


FAST = ("translates", "rotary, grouped, gated")


@pytest.mark.slow
@each_row("name", DECODED)
@pytest.mark.parametrize("ckpt", [pytest.param(one, marks=() if one in FAST else pytest.mark.slow) for one in SHAPES],
                         indirect=True)
def test_a_cached_decoding_is_the_uncached_one(ckpt, whole, name):
    change = DECODED[name](whole)
    forced = dict(enumerate(ckpt.tokenizer.encode("We can go")))
    path = list(transformer.steps(ckpt, TEXT, max_steps=9, forced=forced, change=change))
    last, changes = path[-1], Changes.of(ckpt, change)
    assert last.change == changes.items and len(path) == 9
    for step in path[::3] + path[-1:]:
        batch = Batch.of(last.src, torch.tensor([step.tokens]))
        with torch.no_grad():
            logits = forward(ckpt, batch, changes.of_batch(batch))[0, -1]
        torch.testing.assert_close(step.logits, logits, **CLOSE)
    text = ckpt.tokenizer.decode(last.tokens[last.src is not None:])
    target = None if last.src is None else text
    reading = transformer.attend(ckpt, TEXT if target is not None else text, target, change=change)
    run = transformer.run(ckpt, reading.text, target, capture="*.pattern", change=change)
    for kind in ckpt.config.kinds:
        mine = last.attentions[kind]
        for layer in range(ckpt.config.layers(kind)):
            torch.testing.assert_close(reading.attentions[kind][layer], run[f"{kind}.{layer}.pattern"], **CLOSE)
        if reading.ids["tgt"] == list(last.tokens):
            torch.testing.assert_close(mine, reading.attentions[kind], **CLOSE)


@pytest.mark.slow
@each_row("name", DECODED)
def test_translations_of_many_are_those_of_each(both, name):
    texts = ["I am cold.", "We can go home.", "Go."]
    change = DECODED[name](transformer.run(both, TEXT, TARGET, capture="*"))
    found = transformer.translate(both, texts, max_steps=6, change=change)
    for text, output in zip(texts, found, strict=True):
        *_, last = transformer.steps(both, text, max_steps=6, change=change)
        assert output == last.output
    beams = transformer.translate(both, texts[:2], beam=3, max_steps=5, change=change)
    assert beams == [transformer.translate(both, [text], beam=3, max_steps=5, change=change)[0] for text in texts[:2]]


def test_two_who_change_at_the_same_moment_do_not_meet(both):
    changes = [scale("*.z", 0), scale("decoder.*.z", 0), uniform("cross.*"), None, force("cross.*", 0)]
    alone = [[step.logits for step in transformer.steps(both, TEXT, max_steps=8, change=one)] for one in changes]
    ready = Barrier(len(changes))

    def decode(change):
        ready.wait()
        return [[step.logits for step in transformer.steps(both, TEXT, max_steps=8, change=change)] for _ in range(3)]

    with ThreadPoolExecutor(len(changes)) as threads:
        for found, expected in zip(threads.map(decode, changes), alone, strict=True):
            for path in found:
                assert all(torch.equal(*pair) for pair in zip(path, expected, strict=True))


NOTHING = {  # on "I am cold." as 10 or 11 tokens, of which an encoder-decoder reads 7 as its target; and why
    "rows": (add("decoder.0.resid_pre", torch.ones(16), rows=[30]), "there is no row 30, as the .* has .* tokens"),
    "edges": (cut("decoder.0", edges=[(30, 5), (31, 0)]), "there is no row 30, as"),
    "blocked": (cut("decoder.0", edges=[(0, 5), (3, 30)]), "row 0 may look at key 0 and not at key 5"),
    "keys": (cut("decoder.*", keys=[30, 31]), "there is no key 30, as the .* has"),
    "forced": (force("D0H0", keys=[6], rows=[2]), "row 2 may look at keys 0 to 2 and not at key 6; name what it may"),
    "forced away": (force("D0H0", keys=[33]), "there is no key 33, as"),
    "uniform": (uniform("decoder.1", rows=[30]), "there is no row 30, as"),
    "frozen": (freeze("decoder.*.z", rows=[31, 30]), "there is no row 30, as"),
    "short source": (replace("decoder.0.z", torch.ones(1, 2, 2, 8), rows=[4]), "the source has 2 rows; name"),
    "own": (replace("decoder.0.z", {"rows": [1]}, rows=[30]), "there is no row 30, as"),
}


def test_what_acts_on_nothing_of_a_whole_text_is_refused_with_the_reason(ckpt):
    target = TARGET if ckpt.config.task == "translation" else None
    for change, why in NOTHING.values():
        for read in (transformer.run, transformer.attend, inputs_of_text):
            for given in (change, [scale("decoder.0.z", 0.5), change]):
                with pytest.raises(ValueError, match=f"^{change.how} .* changes nothing: {why}"):
                    read(ckpt, TEXT, target, change=given)
        with pytest.raises(ValueError, match="changes nothing: "):
            transformer.run(ckpt, [TEXT, OTHER], target and [target] * 2, change=change)
        transformer.run(ckpt, TEXT, target, change=Changes.of(ckpt, change))  # looked up for what it is a part of


def test_a_decoding_refuses_what_it_never_comes_to_alone(both):
    """A row of the decoder may still come; what a mask forbids, and a row of the source that there is not, never."""
    never = ("blocked", "forced", "short source")
    for name in NOTHING.keys() - never:
        step = transformer.start(both, TEXT, change=NOTHING[name][0])
        assert repr(step).endswith(", under 1 change, 0 places so far") and step.missed, name
    others = [scale("encoder.0.z", 0, rows=[30]), force("cross.0", 30), cut("cross.*", edges=(2, 11)),
              replace("encoder.0.z", {"rows": [11]}, rows=0), replace("cross.1.v", "zero", rows=[11])]
    for one in [*(NOTHING[name][0] for name in never), *others]:
        with pytest.raises(ValueError, match="changes nothing: "):
            transformer.start(both, TEXT, change=one)
        with pytest.raises(ValueError, match="changes nothing: "):
            transformer.translate(both, [TEXT, "Go."], change=one)
        with pytest.raises(ValueError, match="changes nothing: "):
            next(transformer.steps(both, TEXT, change=one))
    longer = "We can go home. Who is it?"
    found = transformer.translate(both, ["Go.", longer], max_steps=6, change=others[-1])
    assert found == [transformer.translate(both, [text], max_steps=6, change=under)[0] for text, under in (
        ("Go.", None), (longer, others[-1]))]


def test_a_row_that_a_decoding_comes_to_is_changed_then_and_counted(both):
    change, forced = scale("decoder.*.resid_pre", 3, rows=[2, 30]), dict.fromkeys(range(5), 9)
    path = list(transformer.steps(both, TEXT, max_steps=5, forced=forced, change=change))
    plain = list(transformer.steps(both, TEXT, max_steps=5, forced=forced))
    said = [repr(step).partition("under ")[2] for step in path]
    assert said == [f"1 change, {places} places so far" for places in (0, 0, 2, 2, 2)]
    assert [torch.equal(one.logits, other.logits) for one, other in zip(path, plain, strict=True)] == [
        True, True, False, False, False]


def test_texts_that_are_hit_and_texts_that_are_not_are_counted(both):
    texts, change = [TEXT, "Go.", "He is tall"], [scale("encoder.*.z", 0, rows=[1, 6]), uniform("cross.0", rows=2)]
    many = transformer.run(both, texts, ["Va.", "V", "Va"], change=change)
    assert repr(many) == f"Run of 3 texts by {both.id}: 0 sites, under 2 changes, 12 places"
    assert [repr(many.of(at)).partition("under ")[2] for at in range(3)] == [
        "2 changes, 5 places", "2 changes, 2 places", "2 changes, 5 places"]
    assert many.changes.hits(11, 4) == [4, 1] and many.changes.hits(4, 2) == [2, 0]
    reading = transformer.attend(both, TEXT, "Va.", change=change)
    assert repr(reading).endswith(", under 2 changes, 5 places")
    edges = cut("decoder.*", edges=[(3, 0), (3, 2), (0, 3), (9, 1)])
    assert repr(transformer.run(both, TEXT, "Va.", change=edges)).endswith("under 1 change, 4 places")  # of two layers


def some_change(draw: random.Random, kinds: tuple[str, ...]) -> Change:
    """A change of a pattern or of what heads write, at places that a text may have or not."""
    place, some = f"{draw.choice(kinds)}.{draw.choice('01*')}", lambda: draw.sample(range(14), draw.randint(1, 2))
    return draw.choice([
        lambda: cut(place, edges=[*zip(some(), [draw.randrange(14)] * 2, strict=False)], renormalise=False),
        lambda: cut(place, keys=some(), rows=draw.choice([None, some()]), renormalise=False),
        lambda: scale(f"{place}.z", 3, rows=some()), lambda: scale(f"{place}.v", -1, rows=some())])()


def test_a_change_that_counts_no_place_changes_no_bit_and_one_that_does_changes_some(ckpt):
    texts, draw = [TEXT, "Go.", "He", "I see a dog"], random.Random(3)
    targets = ["Va.", "V", "J'ai", "Va"] if ckpt.config.task == "translation" else [None] * 4
    plain = transformer.run(ckpt, texts, targets)
    for _ in range(20):
        change = some_change(draw, ckpt.config.kinds)
        changes = Changes.of(ckpt, change)
        found = transformer.run(ckpt, texts, targets, change=changes)
        for at in range(4):
            one, other = plain.of(at), found.of(at)
            places = sum(changes.hits(*one.batch.lengths[0]))
            assert torch.equal(one.logits, other.logits) == (not places), f"{change} in {texts[at]!r}: {places} places"


LISTS = {**SHAPES, "no padding": {"decoder_layers": 0, "n_classes": 3, "pooling": "first", "pad_id": None},
         "classifies": {"decoder_layers": 0, "n_classes": 3, "pooling": "mean"}}


@pytest.mark.parametrize("shape", LISTS)
def test_what_a_text_has_itself_is_taken_in_a_list_as_alone(make_checkpoint, shape):
    ckpt = make_checkpoint(**LISTS[shape])
    kind = ckpt.config.kinds[0]
    texts = ["I am cold. We can go.", "Go.", "He is tall", "I"]
    targets = ["Va.", "V", "J'ai", "Va"] if ckpt.config.task == "translation" else [None] * 4
    several = [transformer.run(ckpt, text[::-1], target, capture=f"{kind}.0.z") for text, target in zip(
        texts, targets, strict=True)]
    together = transformer.run(ckpt, [text[::-1] for text in texts], targets, capture=f"{kind}.0.z")
    rows = [8] if kind == "encoder" else [2]  # which the shorter texts have not
    first = f"{kind}.{'pos_' * (f'{kind}.pos_embed' in places(ckpt.config))}embed"
    for change in ([scale(f"{kind}.0.z", 0), freeze(f"{kind}.0.mlp_out"), freeze(f"{kind}.1.z")],
                   replace(f"{kind}.1.resid_pre", {"rows": rows}, rows=[3]),
                   add(first, {"rows": rows}, rows=[3]),
                   replace(f"{kind}.0.mlp_out", {"rows": [0, rows[0]]}, rows=[8, 3] if rows == [8] else [4, 3])):
        many = transformer.run(ckpt, texts, targets, change=change)
        for at, (text, target) in enumerate(zip(texts, targets, strict=True)):
            alone = transformer.run(ckpt, text, target, change=Changes.of(ckpt, change))
            torch.testing.assert_close(many.of(at).logits, alone.logits, **CLOSE, msg=lambda said, at=at, change=change:
                                       f"{change} in text {at}: {said}")
    patched = transformer.run(ckpt, texts, targets, change=replace(f"{kind}.0.z", together))
    for at, (text, target) in enumerate(zip(texts, targets, strict=True)):
        alone = transformer.run(ckpt, text, target, change=replace(f"{kind}.0.z", several[at]))
        torch.testing.assert_close(patched.of(at).logits, alone.logits, **CLOSE)
    with pytest.raises(ValueError, match=f"the source of {kind}.0.z is of 4 texts, and 3 are read here; give as many"):
        transformer.run(ckpt, texts[:3], targets[:3], change=replace(f"{kind}.0.z", together))
    with pytest.raises(ValueError, match="is of 4 texts, and 1 is read here"):
        transformer.run(ckpt, texts[0], targets[0], change=add(f"{kind}.0.z", together))


def test_rows_of_a_source_are_taken_in_the_order_in_which_they_are_named(both):
    other = transformer.run(both, OTHER, SECOND, capture="encoder.0.resid_pre")["encoder.0.resid_pre"]
    change = replace("encoder.0.resid_pre", {"text": OTHER, "target": SECOND, "rows": [0, 1]}, rows=[5, 2])
    found = transformer.run(both, TEXT, TARGET, capture="encoder.0.resid_pre", change=change)["encoder.0.resid_pre"]
    assert torch.equal(found[[5, 2]], other[[0, 1]])
    for wrong in ([0, 1, 2], [0, 1]):
        with pytest.raises(ValueError, match="rows of the source are named for (2|all) rows here"):
            Changes.of(both, replace("encoder.0.z", {"rows": wrong}, rows=[5, 2] if len(wrong) > 2 else None))


def test_keys_and_values_that_are_kept_or_taken_from_elsewhere_are_so_in_a_translation_of_many(both):
    texts = ["I am cold. We go on.", "Go on."]
    for change in ([scale("encoder.1.resid_post", -1), freeze("cross.*.v"), freeze("cross.*.k")],
                   replace("cross.*.v", {"rows": [0]}, rows=[1, 2, 3])):
        paths = [[*transformer.steps(both, text, max_steps=12, change=change)] for text in texts]
        assert transformer.translate(both, texts, max_steps=12, change=change) == [path[-1].output for path in paths]


ANY_WAY = [
    scale("cross.0.z", 0.5, heads=[1], rows=3), add("decoder.0.resid_mid", [1.0] * 16 and torch.ones(16), factor=-1),
    replace("D1H0", "zero"), replace("encoder.0.mlp_out", {"text": OTHER, "rows": [2]}, rows=[1]), freeze("*.mlp_out"),
    cut("cross.1", edges=[(0, 1), (2, 0)]), cut("E1H1", keys=1, renormalise=False), force("decoder.*", 0, rows=[2, 3]),
    uniform("encoder.0", heads=[0, 1])]


@each_row("change", ANY_WAY)
def test_a_change_goes_to_json_and_back(both, change):
    assert {one.how for one in ANY_WAY} == set(HOWS)
    plain = orjson.loads(orjson.dumps(change.to_json()))
    again = Change.from_json(plain)
    assert again.to_json() == change.to_json() and str(again) == str(change)
    one, other = (transformer.run(both, TEXT, TARGET, change=one).logits for one in (change, plain))
    assert torch.equal(one, other)
    assert torch.equal(one, transformer.run(both, TEXT, TARGET, change=orjson.dumps([plain]).decode()).logits)
    assert len(str(change)) < 90 and "\n" not in repr(change)


def test_a_run_as_a_source_is_saved_as_its_text(both):
    _, other = pair(both)
    change = replace("encoder.0.resid_pre", other)
    assert change.to_json()["source"] == {"text": OTHER, "target": SECOND}
    one, again = (transformer.run(both, TEXT, TARGET, change=given).logits for given in (change, change.to_json()))
    assert torch.equal(one, again)
    under = transformer.run(both, TEXT, TARGET, capture="*", change=change)
    with pytest.raises(ValueError, match="this run was changed itself or is of several texts; give the tensor"):
        replace("encoder.0.resid_pre", under).to_json()
    with pytest.raises(ValueError, match="has 4,002 numbers, and JSON of a change holds at most 4,000"):
        replace("encoder.0.resid_pre", torch.zeros(4_002)).to_json()


def test_what_was_given_is_read_once_and_changes_are_joined_without_being_looked_up_again(both, writer):
    changes = Changes.of(both, scale("*.z", 0))
    assert Changes.of(both, changes) is changes and bool(changes) and not Changes.of(both, None)
    assert parsed(changes) == changes.items and parsed("[]") == ()
    assert repr(Changes.of(both, [])) == "no change" and repr(changes) == "scale *.z by 0"
    plains = [{"how": "scale", "site": "decoder.0.z", "factor": 0.5},
              {"how": "replace", "site": "decoder.1.z", "source": {"texts": ["Go on."]}}]
    seen = []
    parts = [Changes.of(writer, plain, watch=lambda: seen.append(None)) for plain in plains]
    joined = Changes.joined(writer, parts)
    assert len(seen) == 1 and [*map(str, joined.items)] == [*map(str, Changes.of(writer, plains).items)]
    together = transformer.run(writer, "I am cold.", change=plains).logits
    assert torch.equal(transformer.run(writer, "I am cold.", change=joined).logits, together)


@pytest.mark.slow
def test_every_place_can_be_changed(make_checkpoint):
    for settings in (SHAPES[shape] for shape in ("translates", "rotary, grouped, gated", "relative")):
        ckpt = make_checkpoint(**settings)
        translates = ckpt.config.task == "translation"
        plain = transformer.run(ckpt, TEXT, TARGET if translates else None)
        for name, place in places(ckpt.config).items():
            if name == "logits" or (name == "encoder.final" and not translates):
                continue
            change = scale(name, 0.5)
            if place.site in ("scores", "pattern", "k") or (place.site == "q"):
                change = scale(name, 3)
            assert not torch.equal(changed(plain, change).logits, plain.logits), f"{settings} {name}"


@each_row(("plain", "why"), [
    ({"how": "cut", "site": "decoder.0", "edges": [[5, 1e30]]}, "give"),
    ({"how": "cut", "site": "decoder.0", "edges": [[5, 10 ** 30]]}, "give"),
    ({"how": "cut", "site": "decoder.0", "edges": [[40, 0]]}, "there is no position 40; this model reads 40 tokens"),
    ({"how": "scale", "site": "decoder.0.z", "factor": 0, "rows": [10 ** 30]}, "give"),
    ({"how": "force", "site": "decoder.0", "keys": [2 ** 40]}, "give"),
    ({"how": "replace", "site": "decoder.0.z", "source": {"texts": ["a"], "seed": 10 ** 30}}, "give")])
def test_a_place_that_no_text_has_is_refused_at_the_door(writer, plain, why):
    with pytest.raises(ValueError, match=why):
        Changes.of(writer, plain)


def test_texts_are_limited_over_all_changes_together(writer):
    change = {"how": "replace", "site": "decoder.0.z", "source": {"texts": ["a"] * 150}}
    Changes.of(writer, [change] * 3)
    with pytest.raises(ValueError, match="the changes name 350 texts, and at most 200 are read for all of them; name"):
        Changes.of(writer, [change, change | {"source": {"texts": ["b"] * 200}}], watch=lambda: pytest.fail("is read"))


def test_what_is_read_of_other_texts_is_watched_and_a_mean_keeps_one_row(writer, shipped, monkeypatch):
    """A long list of texts ends when nobody waits for it, and takes the memory of one."""
    texts, seen = ["I am cold.", "Go on.", "He is tall."], []
    change = {"how": "replace", "site": "decoder.*.z", "source": {"texts": texts}}
    found = Changes.of(writer, change, watch=lambda: seen.append(None))
    assert len(seen) == 3
    rows = torch.cat([transformer.run(writer, text, capture="decoder.1.z")["decoder.1.z"] for text in texts], dim=1)
    one = next(one for one in found.ready if one.place.layer == 1)
    torch.testing.assert_close(one.source.values[0, :, 0], rows.mean(1))
    assert one.source.values.shape[2] == 1
    several = [change | {"site": site} for site in ("decoder.0.z", "decoder.1.z", "decoder.0.mlp_out")]
    found = Changes.of(writer, several, watch=lambda: seen.append(None))
    assert len(seen) == 6  # once for all changes
    one = next(one for one in found.ready if one.place.name == "decoder.1.z")
    torch.testing.assert_close(one.source.values[0, :, 0], rows.mean(1))
    monkeypatch.setattr("transformer.inference.changed.KEPT", 100_000)
    with pytest.raises(ValueError, match="at 4 sites is more than 100,000 numbers; name fewer sites, or take the mean"):
        Changes.of(shipped("write"), {"how": "replace", "site": "decoder.*.z", "source": "resample"})
