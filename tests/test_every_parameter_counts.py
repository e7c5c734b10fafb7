"""Every parameter of the public functions has an effect wherever it is given, or is refused in a sentence.

A parameter that is new is red here until it stands in one of the two tables. `show` has a table of its own.
"""

import inspect
from collections.abc import Callable

import pytest

import transformer
from tests.huggingface.random_models import save_random
from tests.rows import each_row
from transformer import Sampling

TEXT, WRITE = "I am cold.", "checkpoints/write"
# Function -> parameters that count in every call: for them there is no call that could ignore them.
ALWAYS = {
    "add": "site source factor heads rows", "architecture": "config apart transparent", "attend": "ckpt text change",
    "beam_tree": "ckpt text width max_steps length_penalty watch", "corpus": "name",
    "cut": "attention keys renormalise", "describe": "folder", "evaluate": "ckpt split watch",
    "export_model": "ckpt out", "force": "attention keys rows heads", "freeze": "site heads rows",
    "import_model": "source out ids precision", "import_steps": "sources out ids watch",
    "load": "folder device precision", "next_step": "ckpt step id", "publish": "checkpoints out",
    "replace": "site source", "run": "ckpt texts capture change", "scale": "site factor",
    "save": "folder model tokenizer source_tokenizer train meta half files", "start": "ckpt text change",
    "steps": "ckpt text max_steps change", "train": "out resume device minutes watch settings",
    "translate": "ckpt texts beam max_steps batch_tokens change cut watch", "uniform": "attention heads"}


def measured(**options: object) -> Callable:
    return lambda t, w: transformer.evaluate(transformer.load(WRITE), **options)


# (function, parameter): a call in which it could do nothing, and what that call says.
REFUSED: dict[tuple[str, str], tuple[Callable, str]] = {
    ("attend", "target"): (lambda t, w: transformer.attend(w, TEXT, "J'ai froid."), "has no place for a target"),
    ("run", "target"): (lambda t, w: transformer.run(w, TEXT, "J'ai froid."), "has no place for a target"),
    ("cut", "edges"): (lambda t, w: transformer.attend(w, TEXT, change=transformer.cut("decoder.0", edges=[(0, 5)])),
                       "changes nothing: row 0 may look at key 0"),
    ("cut", "rows"): (lambda t, w: transformer.cut("decoder.0", edges=[(3, 0)], rows=[3]), "edges name their queries"),
    ("cut", "heads"): (lambda t, w: transformer.attend(w, TEXT, change=transformer.cut("D0H0", keys=0, heads=[1])),
                       "names its head itself"),
    ("replace", "heads"): (lambda t, w: transformer.run(w, TEXT, change=transformer.replace(
        "decoder.0.resid_pre", "zero", heads=[0])), "has no heads; leave heads out"),
    ("replace", "rows"): (lambda t, w: transformer.attend(w, TEXT, change=transformer.replace(
        "decoder.0.z", "zero", rows=[400])), "no position|no token"),
    ("scale", "heads"): (lambda t, w: transformer.attend(w, TEXT, change=transformer.scale("D0H0", 0, heads=[1])),
                         "names its head itself; leave heads out"),
    ("scale", "rows"): (lambda t, w: transformer.attend(w, TEXT, change=transformer.scale("D0H0", 0, rows=[99])),
                        "no position|no token"),
    ("uniform", "rows"): (lambda t, w: transformer.attend(w, TEXT, change=transformer.uniform("D0H0", rows=[99])),
                          "no position|no token"),
    ("evaluate", "beam"): (measured(beam=3), "only what translates has a beam"),
    ("evaluate", "limit"): (measured(limit=3), "no first sentences; leave limit out"),
    ("evaluate", "human"): (measured(human=True), "no translations to measure"),
    ("evaluate", "as_typed"): (measured(as_typed=True), "no translations to measure"),
    ("import_model", "languages"): (None, "brings no tokenizer with languages"),
    ("next_step", "sampling"): (lambda t, w: transformer.next_step(
        w, transformer.start(w, TEXT), sampling=Sampling(top_k=3)), "no effect at temperature 0"),
    ("start", "sampling"): (lambda t, w: transformer.start(w, TEXT, sampling=Sampling(seed=3)), "no effect at temp"),
    ("steps", "sampling"): (lambda t, w: next(transformer.steps(w, TEXT, sampling=Sampling(min_p=0.1))), "no effect"),
    ("steps", "settings"): (lambda t, w: next(transformer.steps(w, TEXT, top_p=0.5)), "no effect at temperature 0"),
    ("steps", "forced"): (lambda t, w: next(transformer.steps(w, TEXT, max_steps=3, forced={3: 5})),
                          "a step of forced is 3; choose a whole number from 0 to 2"),
    ("train", "preset"): (None, "a resumed run goes on with its own preset; leave it out"),
    ("translate", "length_penalty"): (lambda t, w: transformer.translate(t, [TEXT], length_penalty=1.0),
                                      "length_penalty orders the outputs of a beam, and beam is 1")}


def test_every_parameter_of_a_public_function_stands_in_one_of_the_tables():
    functions = {name for name in transformer.__all__ if inspect.isfunction(getattr(transformer, name))} - {"show"}
    assert functions == ALWAYS.keys()
    for name in functions:
        refused = {parameter for function, parameter in REFUSED if function == name}
        always = {*ALWAYS[name].split()}
        assert not refused & always, name
        assert refused | always == {*inspect.signature(getattr(transformer, name)).parameters}, name


@each_row("what", [what for what, (call, _) in REFUSED.items() if call])
def test_what_could_do_nothing_is_refused(translator, writer, what):
    call, says = REFUSED[what]
    with pytest.raises(ValueError, match=says):
        call(translator, writer)


def test_languages_are_for_a_tokenizer_that_has_some(tmp_path):
    save_random(tmp_path / "theirs", "GPT2LMHeadModel", "GPT2Config", {
        "vocab_size": 9, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 8, "bos_token_id": 0,
        "eos_token_id": 0})
    with pytest.raises(ValueError, match=REFUSED["import_model", "languages"][1]):
        transformer.import_model(tmp_path / "theirs", tmp_path / "ours", languages=("en", "fr"))


def test_a_resumed_run_takes_no_preset(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=REFUSED["train", "preset"][1]):
        transformer.train(tmp_path, "write", resume=True)
