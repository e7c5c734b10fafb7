"""The decoding tree: steps, branches, and the links that lead back to them. No page, no browser."""

import pytest

from tests.rows import each_row
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding import GREEDY, Sampling, Step, start, steps
from transformer.inference.decoding_tree import MOST_OTHERS, DecodingTree, begin
from ui.page.link import read
from ui.views.stepper.address import address_of_step, step_fields

MODELS = [{"max_len": 24}, {"max_len": 24, "encoder_layers": 0, "positions": "rotary"}]  # it translates, and it writes
TEXT = "I am cold."
BOLD = Sampling(temperature=1.2, top_k=12, seed=5)
DRAWN = [GREEDY, Sampling(temperature=0.8), BOLD]


def other(decoding: DecodingTree, rank: int = 1) -> int:
    """A token that the step looked at does not say, and that does not end the text."""
    step = decoding.step
    return [c.id for c in step.top(10) if c.id not in (step.id, step.ckpt.config.eos_id)][rank - 1]


def alone(ckpt: Checkpoint, sampling: Sampling, **options: object) -> list[Step]:
    """What the library decodes of the text by itself."""
    return list(steps(ckpt, TEXT, sampling=sampling, **options))


def written(decoding: DecodingTree) -> tuple[int, ...]:
    """All that has been read at the step looked at, and what it says."""
    return (*decoding.step.tokens, decoding.step.id)


def reopened(ckpt: Checkpoint, decoding: DecodingTree, sampling: Sampling) -> DecodingTree:
    """The decoding that somebody gets who opens this one's link."""
    params, whole = address_of_step(
        ckpt.id, decoding.step.text, choices=decoding.branch.departures(sampling), temperature=sampling.temperature,
        top_k=sampling.top_k, seed=sampling.seed, step=decoding.index)
    assert whole
    there = read(step_fields(example=""), params)
    return begin(ckpt, there["text"], choices=there["choices"], index=there["step"], sampling=Sampling(
        temperature=there["temperature"], top_k=there["top_k"] or None, seed=there["seed"]))


@each_row("sampling", DRAWN)
def test_a_token_that_the_configuration_forces_or_bans_is_so_in_a_tree_too(make_checkpoint, sampling):
    likeliest = start(make_checkpoint(), TEXT).id
    ckpt = make_checkpoint(forced_bos_id=6, banned_ids=(likeliest, 7))
    decoding = begin(ckpt, TEXT, index=100, sampling=sampling)
    assert decoding.steps[0].id == 6
    assert [step.id for step in decoding.steps] == [step.id for step in alone(ckpt, sampling)]
    assert not {likeliest, 7} & {step.id for step in decoding.steps}
    assert decoding.branch.departures(sampling) == {}


@each_row("sampling", DRAWN)
def test_a_decoding_is_what_the_library_decodes(ckpt, sampling):
    decoding, own = begin(ckpt, TEXT, index=100, sampling=sampling), alone(ckpt, sampling)
    assert [(step.index, step.tokens, step.id) for step in decoding.steps] == [(s.index, s.tokens, s.id) for s in own]
    assert decoding.index == decoding.last == len(own) - 1


def test_moves_stop_at_both_ends_and_many_at_once_are_the_same_as_one_by_one(ckpt):
    decoding = begin(ckpt, TEXT)
    assert decoding.index == 0
    assert decoding.last is None
    assert decoding.to(-5).index == 0
    end = decoding.to(10**6)
    assert end.step.ended
    assert end.index == end.last > 3
    assert end.to(end.index + 1).index == end.last
    assert end.to(0).last == end.last
    one_by_one = at_once = begin(ckpt, TEXT, sampling=BOLD)
    for index in range(1, 6):
        one_by_one = one_by_one.to(index, BOLD)
    assert written(one_by_one) == written(at_once.to(5, BOLD))


def test_moves_decode_nothing_anew_and_leave_the_decoding_they_were_made_from_alone(ckpt):
    decoding = begin(ckpt, TEXT, index=6)
    back = decoding.to(2)
    assert back.step is decoding.steps[2]
    assert back.branch is decoding.branch
    assert back.to(6).step is decoding.step
    before = written(decoding), decoding.index, decoding.others
    decoding.to(7)
    decoding.to(1).pick(other(decoding.to(1)))
    assert (written(decoding), decoding.index, decoding.others) == before


def test_a_pick_at_the_newest_step_or_an_earlier_one_goes_on_with_it_and_keeps_the_old_branch(ckpt):
    for decoding in (begin(ckpt, TEXT, index=2), begin(ckpt, TEXT, index=6).to(2)):
        id = other(decoding)
        picked = decoding.pick(id)
        assert picked.index == 3
        assert picked.step.tokens == (*decoding.step.tokens, id)
        assert picked.others == (decoding.branch,)
        assert picked.branch.departures(GREEDY) == {2: id}
        assert decoding.branch.departures(GREEDY) == {}
        stepped = decoding.pick(decoding.step.id)  # which it says already
        assert (stepped.index, stepped.branch.written, stepped.others) == (3, decoding.to(3).branch.written, ())


def test_the_oldest_branches_go_when_there_are_many(ckpt):
    decoding = begin(ckpt, TEXT, index=2)
    ids = [candidate.id for candidate in decoding.step.top(MOST_OTHERS + 3)]
    for id in ids:
        decoding = decoding.to(2).pick(id)
    assert [branch.tip.path()[2].id for branch in decoding.others] == ids[-2:-2 - MOST_OTHERS:-1]


def test_a_pick_goes_on_as_the_library_does_with_that_token_forced(ckpt):
    decoding = begin(ckpt, TEXT, index=6, sampling=BOLD).to(3, BOLD)
    id = other(decoding)
    picked = decoding.pick(id, BOLD).to(8, BOLD)
    *_, forced = alone(ckpt, BOLD, forced={3: id}, max_steps=picked.index + 1)
    assert written(picked) == (*forced.tokens, forced.id)


def test_picks_on_a_branch_stay_said_when_another_follows(ckpt):
    decoding = begin(ckpt, TEXT, index=1)
    first = other(decoding)
    decoding = decoding.pick(first).to(4)
    second = other(decoding, 2)
    decoding = decoding.pick(second).to(6)
    assert decoding.steps[1].id == first
    assert decoding.steps[4].id == second
    assert decoding.to(3).pick(other(decoding.to(3))).steps[1].id == first


def test_a_branch_is_gone_back_to_whole_by_a_switch_or_by_picking_what_it_says(ckpt):
    old = begin(ckpt, TEXT, index=6)
    new = old.to(2).pick(other(old.to(2))).to(5)
    back = new.switch(new.others[0])
    assert back.index == 5
    assert back.branch is old.branch
    assert back.others == (new.branch,)
    again = back.switch(back.others[0])
    assert written(again) == written(new)
    assert again.others == (old.branch,)
    old = begin(ckpt, TEXT, index=8)
    new = old.to(1).pick(other(old.to(1)))
    back = new.switch(old.branch).to(8)
    assert back.switch(new.branch).index == new.index == 2
    old = begin(ckpt, TEXT, index=6)
    new = old.to(2).pick(other(old.to(2))).to(5)
    back = new.to(2).pick(old.steps[2].id)
    assert back.branch is old.branch
    assert back.index == 3
    assert back.others == (new.branch,)


def test_picking_the_end_ends_the_text_there_once(ckpt):
    eos, decoding = ckpt.config.eos_id, begin(ckpt, TEXT, index=5).to(2)
    ended = decoding.pick(eos)
    assert ended.index == ended.last == 2
    assert ended.step.id == eos
    assert ended.to(5).index == 2
    assert ended.others == (decoding.branch,)
    again = ended.switch(ended.others[0]).to(2).pick(eos)
    assert again.branch is ended.branch
    assert again.others == (decoding.branch,)
    assert again.index == again.last == 2


def test_a_pick_where_the_context_is_full_changes_the_last_token_alone(ckpt):
    full = begin(ckpt, TEXT, choices=dict.fromkeys(range(ckpt.config.max_len), 6), index=10**6)
    assert full.step.full
    picked = full.pick(7)
    assert picked.index == full.index == picked.last
    assert picked.step.tokens == full.step.tokens
    assert picked.step.id == 7
    assert picked.others == (full.branch,)


def test_at_another_temperature_the_newest_token_alone_is_chosen_anew_unless_it_was_picked(ckpt):
    decoding = begin(ckpt, TEXT, index=4)
    found = set()
    for seed in range(20):
        sampling = Sampling(temperature=2.0, seed=seed)
        settled = decoding.settled(sampling)
        assert (settled.index, settled.step.tokens) == (4, decoding.step.tokens)
        assert [step.id for step in settled.steps[:-1]] == [step.id for step in decoding.steps[:-1]]
        assert settled.step.id == sampling.choose(decoding.step.logits, 4)
        assert settled.settled(GREEDY).step.id == decoding.step.id
        found.add(settled.step.id)
    assert len(found) > 1
    eos, decoding = ckpt.config.eos_id, begin(ckpt, TEXT, index=3)
    ended = decoding.pick(eos)
    for seed in range(10):
        assert ended.settled(Sampling(temperature=2.0, seed=seed)).step.id == eos


def test_what_comes_after_the_step_looked_at_is_decided_anew_but_a_token_picked_up_to_it(ckpt):
    decoding = begin(ckpt, TEXT, index=8).to(3)
    anew = decoding.anew(BOLD)
    assert (anew.index, anew.branch.tip.index, anew.step.tokens) == (3, 3, decoding.step.tokens)
    assert anew.step.id == BOLD.choose(decoding.step.logits, 3)
    forced = dict(enumerate(decoding.step.tokens[len(start(ckpt, TEXT).tokens):]))
    *_, own = alone(ckpt, BOLD, max_steps=7, forced=forced)
    assert written(anew.to(6, BOLD)) == (*own.tokens, own.id)
    decoding = begin(ckpt, TEXT, index=2)
    decoding = decoding.pick(other(decoding))  # at step 2
    decoding = decoding.to(5).pick(other(decoding.to(5)))  # at step 5
    anew = decoding.to(2).anew(BOLD)
    assert anew.step.id == decoding.steps[2].id
    assert anew.picks == {2}
    assert set(anew.branch.choices) == {2}


@each_row("sampling", DRAWN)
def test_a_text_foreseen_is_known_to_its_end_or_as_far_as_is_asked_for(ckpt, sampling):
    end = begin(ckpt, TEXT, index=100, sampling=sampling)
    decoding = begin(ckpt, TEXT, index=2, sampling=sampling).foreseen(sampling, seconds=60)
    assert (decoding.index, decoding.last) == (2, end.last)
    assert written(decoding.to(100, sampling)) == written(end)
    labels = [end.step.label(id) for id in written(end)]
    read = len(decoding.step.tokens)
    assert decoding.coming == labels[read:-1]
    assert decoding.after == labels[read + 1:]
    assert end.coming == end.after == []
    assert begin(ckpt, TEXT).foreseen(most=3).branch.tip.index == 3
    assert begin(ckpt, TEXT).foreseen(seconds=0).branch.tip.index == 0
    assert begin(ckpt, TEXT, index=5).foreseen(most=3).branch.tip.index == 5


@each_row("sampling", DRAWN)
def test_a_link_leads_back_to_the_same_tokens_and_to_a_branch(ckpt, sampling):
    for index in (0, 3, 100):
        decoding = begin(ckpt, TEXT, index=index, sampling=sampling)
        again = reopened(ckpt, decoding, sampling)
        assert (again.index, written(again)) == (decoding.index, written(decoding))
    decoding = decoding.to(1, sampling)
    decoding = decoding.pick(other(decoding), sampling).to(4, sampling)
    decoding = decoding.pick(other(decoding, 2), sampling).to(7, sampling)
    for index in (7, 3):  # at its end, and looking back with choices still to come
        there = decoding.to(index, sampling)
        again = reopened(ckpt, there, sampling)
        assert written(again) == written(there)
        assert written(again.to(7, sampling)) == written(decoding)


def test_a_link_says_the_same_tokens_again_after_the_temperature_was_changed(ckpt):
    cold = begin(ckpt, TEXT, index=4)
    mixed = cold.settled(BOLD).to(7, BOLD)
    back = mixed.settled(GREEDY).to(9)
    for decoding, sampling in ((mixed, BOLD), (back, GREEDY)):
        assert written(reopened(ckpt, decoding, sampling)) == written(decoding)
    bold = begin(ckpt, TEXT, index=7, sampling=BOLD)
    assert written(bold) != written(mixed)
    assert bold.branch.departures(BOLD) == {} != bold.branch.departures(GREEDY)  # what it would say anyway is left out


def test_a_link_leads_to_any_step_of_a_long_text_and_keeps_an_empty_one_apart_from_none(make_checkpoint, writer):
    long = make_checkpoint(encoder_layers=0, positions="rotary", max_len=120)
    assert begin(long, "I", choices=dict.fromkeys(range(119), 6), index=100).index == 100
    decoding = begin(writer, "", index=3)
    assert decoding.steps[0].tokens == start(writer, "").tokens
    assert written(reopened(writer, decoding, GREEDY)) == written(decoding)


def test_ids_outside_the_vocabulary_are_left_out_and_a_text_too_long_says_the_limit(ckpt):
    size = ckpt.config.vocab_size
    decoding = begin(ckpt, TEXT, choices={0: size, 1: 10**18, 2: size - 1, 10**9: 5}, index=3)
    assert [step.id for step in decoding.steps[:2]] == [step.likeliest for step in decoding.steps[:2]]
    assert decoding.steps[2].id == size - 1
    with pytest.raises(ValueError, match="10,00[01] tokens; the model reads at most 24"):
        begin(ckpt, "a" * 10_000)


def elsewhere(ckpt: Checkpoint, ids: list[int]):
    *_, step = steps(ckpt, TEXT, forced=dict(enumerate(ids)), max_steps=len(ids))
    return step


def test_a_step_made_elsewhere_becomes_a_branch_and_the_one_before_stays(ckpt):
    decoding = begin(ckpt, TEXT, index=3)
    step = elsewhere(ckpt, [other(decoding.to(0)), 7, 8])
    moved = decoding.visit(step)
    assert moved.step is step
    assert moved.index == 2
    assert [branch is decoding.branch for branch in moved.others] == [True]
    assert written(moved.settled(BOLD)) == written(moved)  # no sampling takes it back
    assert written(moved.switch(moved.others[0], 3)) == written(decoding)
    assert written(reopened(ckpt, moved, GREEDY)) == written(moved)
    assert moved.to(4).steps[:3] == moved.steps


def test_a_step_made_elsewhere_makes_its_branch_longer_and_on_a_way_already_gone_makes_none(ckpt):
    decoding = begin(ckpt, TEXT, index=5)
    before = elsewhere(ckpt, [step.id for step in decoding.steps[:3]])
    back = decoding.visit(before)
    assert back.branch is decoding.branch
    assert back.step is decoding.steps[2]
    assert back.others == ()
    apart = decoding.visit(elsewhere(ckpt, [other(decoding.to(0)), 7]))
    assert apart.visit(before).branch is decoding.branch
    assert len(apart.visit(before).others) == 1
    decoding = begin(ckpt, TEXT, index=1)
    ids = [step.id for step in decoding.steps]
    longer = decoding.visit(elsewhere(ckpt, [*ids, 7, 8]))
    assert longer.index == 3
    assert longer.others == ()
    apart = longer.visit(elsewhere(ckpt, [*ids, 9]))
    assert [branch.written for branch in apart.others] == [longer.branch.written]


@each_row("sampling", DRAWN)
def test_a_long_way_in_portions_leads_to_the_same_place(ckpt, monkeypatch, sampling):
    clock = iter(range(10_000))
    monkeypatch.setattr("transformer.inference.decoding_tree.monotonic", lambda: next(clock))
    decoding, places = begin(ckpt, TEXT, sampling=sampling), []
    while not places or (decoding.index < 9 and decoding.last is None):
        decoding = decoding.to(9, sampling, seconds=2.5)
        places.append(decoding.index)
    assert places[:2] == [3, 6]
    assert written(decoding) == written(begin(ckpt, TEXT, sampling=sampling, index=9))
