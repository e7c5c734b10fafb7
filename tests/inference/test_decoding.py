"""Decoding: every step is what one whole forward pass says, and paths leave each other alone."""

import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from threading import Barrier

import pytest
import torch

import transformer
from tests.rows import each_row
from tests.switched import switched
from transformer.attention_view.heads import Pooled, one_head, weights
from transformer.attention_view.notebook import show
from transformer.checkpoints.checkpoint import load
from transformer.inference import activation_cache, recompute
from transformer.inference.beam_search import translate
from transformer.inference.decoding import RECENT_LOGITS, next_step, start, steps
from transformer.inference.reading import attend
from transformer.inference.sampling import Sampling
from transformer.model.positions import POSITIONS
from transformer.model.rotary import SCALINGS
from transformer.settings.config import Rotary

TEXT, TARGET = "I am cold.", "Go on. He is tall"
TEXTS = ["I am cold.", "Go on.", "", "We can go home.", "Go", "I see a dog and a cat.", "  ", "Go on."]
CLOSE = {"atol": 1e-5, "rtol": 1e-5}
SHAPES = {"translates": {}, "writes": {"encoder_layers": 0}}
PLACES = [*({"positions": name} for name in POSITIONS), {"positions": "sinusoidal", "sinusoid_layout": "halves"}]


def force(ckpt, text=TEXT, target=TARGET, **options):
    """The steps that read `target` piece by piece, and then one more."""
    ids = ckpt.tokenizer.encode(target)
    return list(steps(ckpt, text, forced=dict(enumerate(ids)), max_steps=len(ids) + 1, **options))


def read_whole(ckpt, target, **options):
    """One forward pass over what a step that has read `target` has seen."""
    if ckpt.config.encoder_layers:
        return attend(ckpt, TEXT, target, **options)
    return attend(ckpt, TEXT + target, **options)


def seen(step):
    """All that can be read from a step."""
    return [step.index, step.id, step.tokens, step.logits.clone(), step.top(5), step.output, step.axes("decoder"),
            *(step.attentions[kind] for kind in step.attentions), *(step.scores[kind] for kind in step.scores)]


def same(one, other, **tolerance):
    """Whether two steps show the same, to the bit or nearly."""
    for ours, theirs in zip(seen(one), seen(other), strict=True):
        if isinstance(ours, torch.Tensor):
            torch.testing.assert_close(ours, theirs, **(tolerance or {"atol": 0, "rtol": 0}))
        elif not tolerance:
            assert ours == theirs
    return True


@pytest.fixture(params=SHAPES)
def ckpt(request, translator, writer):
    return translator if request.param == "translates" else writer


@pytest.mark.slow
@each_row("places", PLACES)
@each_row("norm", ["pre", "post"])
@each_row("shape", SHAPES)
def test_every_step_shows_what_one_whole_forward_pass_shows(make_checkpoint, shape, norm, places):
    ckpt = make_checkpoint(**SHAPES[shape], norm_position=norm, **places)
    path = force(ckpt)
    whole = read_whole(ckpt, TARGET).logits
    for step in path:
        torch.testing.assert_close(step.logits, whole[step.index - len(path)], **CLOSE)
    for step in (path[0], path[5], path[-1]):
        captured = read_whole(ckpt, TARGET[:step.index])
        assert list(step.attentions) == list(captured.attentions) == list(ckpt.config.kinds)
        for kind in ckpt.config.kinds:
            torch.testing.assert_close(step.attentions[kind], captured.attentions[kind], **CLOSE)
            torch.testing.assert_close(step.scores[kind], captured.scores[kind], **CLOSE)
            assert torch.equal(step.masks[kind], captured.masks[kind])
    src = torch.tensor([[*ckpt.tokenizer.encode(TEXT), 3]]) if ckpt.config.encoder_layers else None
    fast = ckpt.model(src, torch.tensor([path[-1].tokens]))[0]  # the path that keeps no weights
    torch.testing.assert_close(fast, whole, **CLOSE)


@pytest.mark.parametrize(("shape", "learned"), [  # shorter than what is read first, and crossed on the way
    ("translates", 14), ("writes", 6), *(pytest.param(*row, marks=pytest.mark.rare("the other shape at that length"))
                                         for row in (("translates", 6), ("writes", 14)))])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_scaled_rotary_positions_are_those_of_one_whole_pass_at_every_length(make_checkpoint, shape, scaling, learned):
    rotary = Rotary(scaling=scaling, factor=4.0, learned_len=learned, base=100.0, **(
        {"short_factors": (1.0, 1.1, 1.2, 1.3), "long_factors": (1.0, 2.0, 3.0, 4.0)} if scaling == "longrope" else {}))
    ckpt = make_checkpoint(**SHAPES[shape], positions="rotary", rotary=rotary)
    path, pooled = force(ckpt), None
    for step in path[::2]:
        captured = read_whole(ckpt, TARGET[:step.index])
        torch.testing.assert_close(step.logits, captured.logits[-1], **CLOSE)
        for kind in ckpt.config.kinds:
            torch.testing.assert_close(step.attentions[kind], captured.attentions[kind], **CLOSE)
            torch.testing.assert_close(step.scores[kind], captured.scores[kind], **CLOSE)
        torch.testing.assert_close(step.row("decoder"), captured.attentions["decoder"][:, :, -1], **CLOSE)
        pooled = Pooled.of(step, "decoder", pooled)
        assert abs(pooled.cells.astype(int) - Pooled.of(captured, "decoder").cells).max() <= 1
    # and of earlier steps, once later ones were read
    torch.testing.assert_close(path[3].logits, read_whole(ckpt, TARGET[:3]).logits[-1], **CLOSE)
    greedy = [step.id for step in steps(ckpt, TEXT)]
    if shape == "translates":
        assert translate(ckpt, [TEXT, "Go on."])[0] == ckpt.tokenizer.decode(
            greedy[:-1] if ckpt.config.ends(greedy[-1]) else greedy)


def test_weights_scores_and_masks_have_the_shapes_and_sums_they_are_said_to_have(ckpt):
    step = force(ckpt)[4]
    source = len(TEXT) + 1  # the end token is read too
    read = len(TARGET[:4]) + (1 if ckpt.config.encoder_layers else len(TEXT))
    sizes = {"encoder": (source, source), "decoder": (read, read), "cross": (read, source)}
    assert len(step.tokens) == read
    for kind in ckpt.config.kinds:
        weights, scores, mask = step.attentions[kind], step.scores[kind], step.masks[kind]
        assert weights.shape == scores.shape == (2, 2, *sizes[kind])
        assert mask.shape == sizes[kind] == tuple(map(len, step.axes(kind)))
        assert mask.dtype == torch.bool
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), **CLOSE)
        torch.testing.assert_close(scores.softmax(-1), weights)
        assert (weights[:, :, ~mask] == 0).all()
        assert scores[:, :, ~mask].isneginf().all()
        assert torch.equal(mask, torch.ones_like(mask).tril() if kind == "decoder" else torch.ones_like(mask))
    assert step.logits.shape == (ckpt.config.vocab_size,)


def test_a_kind_of_attention_that_the_model_lacks_is_not_there_and_a_row_that_no_step_adds_is_refused(translator,
                                                                                                      writer):
    step = start(writer, TEXT)
    assert list(step.attentions) == list(step.masks) == ["decoder"]
    for shown in (step.attentions, step.scores, step.masks):
        with pytest.raises(KeyError, match="cross"):
            shown["cross"]
    for kind in ("encoder", "crossed"):
        with pytest.raises(ValueError, match="choose decoder or cross"):
            start(translator, TEXT).row(kind)


def test_labels_say_what_was_read_and_the_output_what_was_written_without_the_prompt(translator, writer):
    step = force(translator)[2]
    source, read = step.axes("cross")[1], step.axes("decoder")[0]
    assert [piece.replace("▁", " ") for piece in source] == [*TEXT, "</s>"]
    assert read == ["<s>", "G", "o"]
    assert [TEXT[p.start:p.end] for p in step.source] == list(TEXT)
    assert step.piece == step.label(step.id) == "▁"
    assert "".join(force(writer)[2].axes("decoder")[0]).replace("▁", " ") == TEXT + "Go"
    for ckpt in (translator, writer):
        assert [step.output for step in force(ckpt)[:4]] == ["G", "Go", "Go ", "Go o"]
        step = start(ckpt, "I 日 am")
        assert [piece.unknown for piece in step.source] == [False, False, True, False, False, False]
        assert step.axes(ckpt.config.kinds[0])[0][2] == "<unk>"


def test_candidates_come_with_their_probabilities_likeliest_first(ckpt):
    step = start(ckpt, TEXT)
    found = step.top(5)
    probabilities = step.logits.softmax(-1)
    assert found[0].id == step.id
    assert [c.probability for c in found] == sorted(probabilities.tolist(), reverse=True)[:5]
    assert all(c.probability == probabilities[c.id] and c.piece == ckpt.tokenizer.piece(c.id) for c in found)
    assert len(step.top(1000)) == ckpt.config.vocab_size
    assert sum(c.probability > 0 for c in step.top(10, Sampling(temperature=1.0, top_k=3))) == 3


def test_a_step_can_be_taken_again_and_stays_as_it_was_and_a_path_holds_each_with_the_id_that_was_read_after_it(ckpt):
    step = force(ckpt)[3]
    before = seen(step)
    one, other = next_step(ckpt, step), next_step(ckpt, step)
    assert same(one, other)
    assert one.tokens == (*step.tokens, step.id)
    assert one.parent is step
    assert all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b
               for a, b in zip(before, seen(step), strict=True))
    with pytest.raises(FrozenInstanceError):
        step.id = 5
    assert start(ckpt, TEXT).parent is None
    first = start(ckpt, TEXT)
    other = first.top(3)[2].id
    last = next_step(ckpt, next_step(ckpt, first, other))
    path = last.path()
    assert [step.index for step in path] == [0, 1, 2]
    assert path[-1] is last
    assert path[0].id == other != first.id
    assert last.tokens == (*first.tokens, path[0].id, path[1].id)
    assert torch.equal(path[0].logits, first.logits)


def test_stepping_leaves_the_model_as_it_was(ckpt):
    def state():
        return [(name, {key: id(value) for key, value in vars(part).items()})
                for name, part in ckpt.model.named_modules()]

    before, weights = state(), {name: value.clone() for name, value in ckpt.model.state_dict().items()}
    seen(force(ckpt, change=switched({kind: torch.zeros(2, 2) for kind in ckpt.config.kinds}))[-1])
    assert state() == before
    assert all(torch.equal(value, weights[name]) for name, value in ckpt.model.state_dict().items())
    assert not any(p.requires_grad for p in ckpt.model.parameters())


def test_two_children_of_a_step_do_not_disturb_each_other(ckpt):
    parent = force(ckpt)[3]
    paths = {id: [next_step(ckpt, parent, id)] for id in (5, 6)}
    for i in range(8):  # by turns, far enough for rows to be copied
        for id, path in paths.items():
            path.append(next_step(ckpt, path[-1], 4 + (3 * id + i) % 20))
    for id, path in paths.items():
        assert path[-1].tokens == (*parent.tokens, id, *(4 + (3 * id + i) % 20 for i in range(8)))
        read = dict(enumerate(path[-1].tokens[-path[-1].index:]))
        alone = list(steps(ckpt, TEXT, forced=read, max_steps=len(read) + 1))
        for step in path:
            same(step, alone[step.index], **CLOSE)


def test_children_made_in_many_threads_at_once_are_those_made_one_by_one(ckpt):
    parent, threads = force(ckpt)[3], 8
    barrier = Barrier(threads)

    def follow(id):
        step = next_step(ckpt, parent, id)
        for _ in range(6):
            step = next_step(ckpt, step, 4 + (step.id + id) % 20)
        return step

    def follow_together(id):
        barrier.wait()
        return follow(id)

    ids = range(4, 4 + threads)
    with ThreadPoolExecutor(threads) as pool:
        together = list(pool.map(follow_together, ids))
    for id, found in zip(ids, together, strict=True):
        assert same(found, follow(id))


def test_logits_of_steps_long_past_are_made_again_and_are_the_same(make_checkpoint):
    ckpt = make_checkpoint(encoder_layers=0, max_len=RECENT_LOGITS + 30)
    forced = {i: 4 + i % 20 for i in range(RECENT_LOGITS + 20)}
    path, kept = [], []
    for step in steps(ckpt, "I", forced=forced):
        path.append(step)
        kept.append(step.logits)
    assert len(path) > RECENT_LOGITS + 20
    assert path[-1].logits is kept[-1]
    assert path[0].logits is not kept[0]
    for step, logits in zip(path, kept, strict=True):
        assert torch.equal(step.logits, logits)


def test_steps_take_the_likeliest_token_or_the_one_that_is_forced_and_go_on_from_it(ckpt):
    free = list(steps(ckpt, TEXT, max_steps=12))
    assert [step.index for step in free] == list(range(len(free)))
    assert all(step.id == int(step.logits.argmax()) for step in free)
    assert len({step.id for step in free}) > 2
    other = free[2].top(3)[2].id
    path = list(steps(ckpt, TEXT, max_steps=6, forced={2: other}))
    assert [step.id for step in path[:3]] == [free[0].id, free[1].id, other]
    assert path[3].tokens == (*path[2].tokens, other)
    assert torch.equal(path[2].logits, free[2].logits)
    assert not torch.allclose(path[3].logits, free[3].logits)
    assert path[4].id == int(path[4].logits.argmax())


def test_steps_end_with_the_one_that_predicts_the_end_or_where_no_token_fits_any_more(ckpt, writer):
    end = ckpt.config.eos_id
    path = list(steps(ckpt, TEXT, forced={0: 5, 1: 6, 2: end}))
    assert [step.id for step in path] == [5, 6, end]
    assert [step.ended for step in path] == [False, False, True]
    assert not path[-1].full
    assert list(steps(ckpt, TEXT, max_steps=0)) == []
    path = list(steps(ckpt, TEXT, forced=dict.fromkeys(range(100), 5)))
    assert len(path[-1].tokens) == ckpt.config.max_len
    assert path[-1].full
    assert path[-1].ended
    assert not path[-2].ended
    with pytest.raises(ValueError, match="40 tokens are read and this model reads at most 40"):
        next_step(ckpt, path[-1])
    assert [step.full for step in steps(writer, "a" * 40)] == [True]  # after a prompt that fills the context


@each_row("seed", [0, 7])
def test_the_same_seed_writes_the_same_and_another_seed_something_else(ckpt, seed):
    def written(seed):
        return [step.id for step in steps(ckpt, TEXT, temperature=1.0, seed=seed, max_steps=15)]

    assert written(seed) == written(seed)
    assert written(seed) != written(seed + 1)


def test_a_path_is_drawn_again_from_any_of_its_steps(ckpt):
    sampling = Sampling(temperature=1.2, top_k=12, seed=3)
    path = list(steps(ckpt, TEXT, temperature=1.2, top_k=12, seed=3, max_steps=8))
    step = start(ckpt, TEXT, sampling=sampling)
    for drawn in path:
        assert step.id == drawn.id == sampling.choose(drawn.logits, drawn.index)
        if not drawn.ended:
            step = next_step(ckpt, step, sampling=sampling)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [
    {"temperature": 1.0}, {"temperature": 0.5}, {"temperature": 2.0, "top_k": 4}, {"temperature": 1.0, "top_p": 0.8},
    {"temperature": 1.0, "min_p": 0.2},
], ids=str)
def test_tokens_are_drawn_as_often_as_their_probability_says(sampling):
    logits = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0, -3.0])
    expected, draws = Sampling(**sampling).probabilities(logits), 3000
    over_seeds = [Sampling(**sampling, seed=seed).choose(logits, 0) for seed in range(draws)]
    over_steps = [Sampling(**sampling).choose(logits, index) for index in range(draws)]
    for drawn in (over_seeds, over_steps):
        found = torch.tensor(drawn).bincount(minlength=6)
        assert (found[expected == 0] == 0).all()
        possible = expected > 0
        surprise = ((found - draws * expected) ** 2)[possible] / (draws * expected)[possible]
        assert surprise.sum() < 25  # chi-square with at most 5 degrees of freedom: p = 0.0001
    # and no step knows what the one before drew
    follows = torch.zeros(6, 6).index_put_(tuple(torch.tensor([over_steps[:-1], over_steps[1:]])), torch.ones(1), True)
    torch.testing.assert_close(follows / (draws - 1), expected[:, None] * expected, atol=0.025, rtol=0)


def test_temperature_divides_the_logits_and_top_k_keeps_that_many_whatever_ties_there_are():
    logits = torch.tensor([1.0, 3.0, 2.0])
    torch.testing.assert_close(Sampling(temperature=2.0).probabilities(logits), (logits / 2).softmax(-1))
    torch.testing.assert_close(Sampling(temperature=0.0).probabilities(logits), logits.softmax(-1))
    for cold in (1e-3, 1e-30, 5e-324):
        torch.testing.assert_close(Sampling(temperature=cold).probabilities(logits), torch.tensor([0.0, 1.0, 0.0]))
        assert Sampling(temperature=cold).choose(logits, 0) == 1
    logits = torch.tensor([1.0, 3.0, 1.0, 1.0, 2.0])
    found = Sampling(temperature=1.0, top_k=3).probabilities(logits)
    assert (found > 0).sum() == 3
    torch.testing.assert_close(found[[1, 4]], logits[[1, 4]].exp() / logits[[1, 4, 0]].exp().sum())
    assert torch.equal(Sampling(temperature=1.0, top_k=50).probabilities(logits),
                       Sampling(temperature=1.0).probabilities(logits))


@each_row(("setting", "value", "kept"), [
    *(("top_p", *pair) for pair in ((0.01, 1), (0.49, 1), (0.51, 2), (0.81, 2), (0.82, 3), (1.0, 4))),
    *(("min_p", *pair) for pair in ((0.0, 4), (0.125, 4), (0.13, 3), (0.25, 3), (0.6, 2), (0.63, 1), (1.0, 1)))])
def test_top_p_keeps_the_fewest_of_that_probability_and_min_p_that_share_of_the_likeliest(setting, value, kept):
    probabilities = torch.tensor([0.125, 0.5, 0.0625, 0.3125])
    found = Sampling(temperature=1.0, **{setting: value}).probabilities(probabilities.log())
    expected = torch.where(probabilities >= probabilities.sort(descending=True).values[kept - 1], probabilities, 0.0)
    torch.testing.assert_close(found, expected / expected.sum())


@pytest.mark.slow
@each_row("what", [0, 0.5, 3, "uniform"])
def test_switched_heads_change_every_step_as_they_change_the_whole_pass(ckpt, what):
    for kind in ckpt.config.kinds:
        change = (transformer.uniform(f"{kind}.0", heads=[1]) if what == "uniform" else
                  transformer.scale(f"{kind}.0.z", what, heads=[1]))
        path, whole = force(ckpt, change=change), read_whole(ckpt, TARGET, change=change)
        for step in path:
            torch.testing.assert_close(step.logits, whole.logits[step.index - len(path)], **CLOSE)
        assert not torch.allclose(path[-1].logits, force(ckpt)[-1].logits, atol=1e-3)
        for other in ckpt.config.kinds:
            torch.testing.assert_close(path[-1].attentions[other], whole.attentions[other], **CLOSE)
        mask = path[-1].masks[kind].float()
        uniform = torch.allclose(path[-1].attentions[kind][0, 1], mask / mask.sum(-1, keepdim=True), atol=1e-5)
        assert uniform == (what == "uniform")


READS = [start, attend, lambda ckpt, text: translate(ckpt, ["Go.", text])]


@each_row("read", READS)
def test_too_long_a_text_is_refused_with_both_numbers(translator, writer, read):
    for ckpt, fits in ((translator, "a" * 39), (writer, "a" * 40)):  # a translator reads the end token too
        if ckpt is writer and read is READS[2]:
            continue
        with pytest.raises(ValueError, match="41 tokens; the model reads at most 40"):
            read(ckpt, f"{fits}a")
        assert read(ckpt, fits)


@each_row("read", [start, attend])
def test_an_empty_text_cannot_be_translated_but_can_be_written_on(translator, writer, read):
    with pytest.raises(ValueError, match="there is nothing to (translate|read); type a sentence"):
        read(translator, "")
    assert read(writer, "").logits.isfinite().all()


def test_a_step_goes_on_in_its_own_model_with_any_copy_of_its_checkpoint_and_with_no_other(ckpt, translator, writer):
    step, copy = start(ckpt, TEXT), load(ckpt.description.folder)
    after = next_step(copy, step)
    assert after.ckpt is ckpt and after.same_text(step)
    assert torch.equal(after.logits, step.next().logits)
    with pytest.raises(ValueError, match="start again with this checkpoint"):
        next_step(writer, start(translator, TEXT))


def test_a_classifier_writes_nothing_but_shows_its_attention(make_checkpoint, writer):
    ckpt = make_checkpoint(decoder_layers=0, pooling="max", n_classes=3)
    with pytest.raises(ValueError, match="is an encoder and writes no tokens"):
        start(ckpt, TEXT)
    for other in (ckpt, writer):
        with pytest.raises(ValueError, match="does not translate"):
            translate(other, [TEXT])
    found = attend(ckpt, TEXT)
    assert found.logits.shape == (3,)
    assert found.attentions["encoder"].shape == (2, 2, len(TEXT), len(TEXT))
    torch.testing.assert_close(found.logits, ckpt.model(torch.tensor([ckpt.tokenizer.encode(TEXT)]))[0], **CLOSE)


def read(step):
    return {kind: step.attentions[kind] for kind in step.attentions}


def test_weights_are_the_same_whatever_was_read_before(ckpt):
    path = force(ckpt)
    alone = [{kind: step.attended(kind)[1] for kind in step.kinds} for step in path]
    other = next_step(ckpt, path[4], id=path[4].top(9)[8].id)
    for step in [*path, *path[::-1], path[2], other, path[7], other, path[-1]]:
        wanted = {kind: step.attended(kind)[1] for kind in step.kinds} if step is other else alone[step.index]
        for kind, found in read(step).items():
            torch.testing.assert_close(found, wanted[kind], **CLOSE)
            if kind != "encoder":
                torch.testing.assert_close(step.row(kind), wanted[kind][:, :, -1], **CLOSE)


def test_the_next_steps_weights_cost_one_row_and_so_does_its_row(ckpt, monkeypatch):
    computed, real = [], recompute.dot_product_attention
    monkeypatch.setattr(recompute, "dot_product_attention", lambda q, *rest, **options: computed.append(
        q.shape[-2]) or real(q, *rest, **options))
    path = force(ckpt)
    path[5].attentions["decoder"]
    for step in path[6:9]:
        computed.clear()
        step.attentions["decoder"]
        assert computed == [1] * ckpt.config.decoder_layers
    computed.clear()
    path[12].row("decoder")
    assert computed == [1] * ckpt.config.decoder_layers


def test_weights_that_somebody_wrote_into_are_not_shown_again_and_only_the_path_read_last_keeps_some(writer,
                                                                                                     monkeypatch):
    step = force(writer)[5]
    before = step.attentions["decoder"].clone()
    step.attentions["decoder"].zero_()
    assert torch.equal(step.attentions["decoder"], before)
    one, other = start(writer, "I am cold."), start(writer, "Go on.")
    kept = [weakref.ref(step.attentions["decoder"].untyped_storage()) for step in (one, other)]
    assert [storage() is not None for storage in kept] == [False, True]
    monkeypatch.setattr(activation_cache, "MOST_KEPT", 100)
    kept = weakref.ref(one.attentions["decoder"].untyped_storage())
    assert kept() is None


def hook_on(part, hook, **options):
    """A forward hook, or one before it where it takes arguments by name."""
    return part.register_forward_pre_hook(hook, **options) if options else part.register_forward_hook(hook)


def cut(part, given, named):
    """The first token may be looked at by nobody else."""
    past = named.get("past")
    past = past[0] if isinstance(past, list) else past  # of every layer
    keys = (past.keys.shape[2] if past else 0) + given[0].shape[1]
    mask = torch.ones(given[0].shape[1], keys, dtype=torch.bool)
    mask[-1, 0] = keys == 1
    return given, {**named, "mask": mask}


@pytest.mark.parametrize("place", ["stack", "layer", "attention"])
def test_a_step_whose_attention_hooks_changed_says_so_and_attend_shows_it(writer, place):
    stack = writer.model.decoder
    parts = {"stack": [stack], "layer": stack.layers, "attention": [layer.attention for layer in stack.layers]}[place]
    hooks = [hook_on(part, cut, with_kwargs=True) for part in parts]
    try:
        step = [*steps(writer, TEXT, max_steps=4)][-1]
        reading = attend(writer, TEXT)
    finally:
        for hook in hooks:
            hook.remove()
    assert (reading.attentions["decoder"][:, :, -1, 0] == 0).all()
    assert (weights(reading, "decoder")[:, :, -1, 0] == 0).all()  # and so does its picture
    assert one_head(reading, "decoder", 0, 0).q is None  # of which no scores are made again
    for look in (lambda: step.attentions["decoder"], lambda: step.scores["decoder"], lambda: step.row("decoder"),
                 lambda: step.frame("decoder"), lambda: step.words().attentions["decoder"],
                 lambda: weights(step, "decoder"), lambda: show(step),
                 lambda: next_step(writer, step).attentions["decoder"]):
        with pytest.raises(ValueError, match="attend"):
            look()
    assert step.logits.shape == (writer.config.vocab_size,)
    again = [*steps(writer, TEXT, max_steps=4)][-1]  # nothing of it stays
    assert again.attentions["decoder"][0, 0, -1, 0] > 0


def test_hooks_that_only_read_or_change_what_is_kept_leave_weights_readable(ckpt):
    plain, seen = force(ckpt), []
    layer = ckpt.model.decoder.layers[1]
    reads = [hook_on(part, lambda part, given, out: seen.append(type(part))) for part in (layer, layer.attention)]
    path = force(ckpt)
    for hook in reads:
        hook.remove()
    assert seen
    torch.testing.assert_close(path[-1].attentions["decoder"], plain[-1].attentions["decoder"], **CLOSE)
    steers = hook_on(ckpt.model.decoder.layers[0], lambda part, given, out: out._replace(
        x=out.x + torch.arange(16.0)))
    try:
        path = force(ckpt)
        did = read_whole(ckpt, TARGET).attentions["decoder"]
    finally:
        steers.remove()
    torch.testing.assert_close(path[-1].attentions["decoder"], did, **CLOSE)
    assert (did - plain[-1].attentions["decoder"]).abs().max() > 1e-3
