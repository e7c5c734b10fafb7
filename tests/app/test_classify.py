"""Classify, without a browser: who is speaking, and the smallest run."""

import os
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer
from tests.labels import labels
from tests.waiting import until
from transformer.analysis.pooling import pool
from transformer.attention_view.message import head_of
from transformer.attention_view.message_fields import Selection
from transformer.attention_view.window import LONGEST, SIDE
from transformer.basics.paths import ROOT
from transformer.checkpoints.checkpoint import load
from transformer.checkpoints.openings import CLASSES
from transformer.huggingface.importing import import_model
from transformer.jobs import run_files
from transformer.jobs.launch import alive, identify
from transformer.text.corpora import LabelledCorpus, corpus
from transformer.text.corpus_catalogue import find_source
from ui.access import quotas
from ui.state import caches
from ui.views.classify import toy

from .page import chips, picture, plain, press, put, rows_of, step_view_of, table_of, words

PAGE, TEXT = "classify", "Is she a Capulet?\nO dear account! my life is my foe's debt."
RUN = "toy-20260101-120000-00ff"


@pytest.fixture(autouse=True)
def passages(monkeypatch):
    made_up = LabelledCorpus("speakers", "0" * 64, "made up", "nobody", ("ROMEO",), {
        "train": [("Ay me!", "ROMEO")], "validation": [], "test": [(TEXT, "ROMEO")]})
    read = caches.labelled
    monkeypatch.setattr("ui.views.classify.passages.labelled",
                        lambda name: made_up if name == "speakers" else read(name))


def shown(at: AppTest, label: str) -> list[str]:
    """The numbers on the chips of that label."""
    return re.findall(r"<small>(.*?)</small>", table_of(at, label))


def added(at: AppTest) -> list[float]:
    """What each token adds to the class looked at, as its chip says."""
    return [float(number.replace("−", "-")) for number in shown(at, "contributions")]


def bars(at: AppTest) -> dict[str, float]:
    """The probability of each class, in the order of the page."""
    return {bar["label"]: bar["probability"] for bar in step_view_of(at)["bars"]["rows"]}


def looked_at(at: AppTest) -> str:
    """The class whose bar is marked."""
    (chosen,) = [bar["label"] for bar in step_view_of(at)["bars"]["rows"] if bar["chosen"]]
    return chosen


# Who is speaking?


def test_it_opens_with_a_held_out_passage_and_says_whose_it_is(visit, ckpt):
    at = visit(PAGE)
    assert at.text_area(key="classify_text").value == TEXT
    assert step_view_of(at)["text"] == {"note": "Spoken by ROMEO · not seen in training"}
    assert step_view_of(at)["steps"] is None
    assert at.query_params["checkpoint"] == ckpt.id
    said = transformer.attend(ckpt, TEXT).logits
    assert at.query_params["class"] == ckpt.classes[int(said.argmax())]
    assert "· seen in training" in step_view_of(visit(PAGE, text="Ay me!"))["text"]["note"]


# How does it end?


@pytest.mark.parametrize("name", CLASSES)
def test_each_question_opens_the_model_that_answers_it_with_its_first_example(visit, name):
    at = visit(PAGE)
    put(at, "classify_show", name)
    source = find_source(name)
    shipped = map(load, (ROOT / "checkpoints").iterdir())
    (ckpt,) = [ckpt for ckpt in shipped if ckpt.config.task == "classes" and ckpt.meta["corpus"] == name]
    assert at.session_state["classify_checkpoint"] == ckpt.id
    assert at.text_area(key="classify_text").value == CLASSES[name].examples[0].text
    assert step_view_of(at)["bars"]["title"] == source.question
    assert set(bars(at)) == set(ckpt.classes)
    assert at.query_params["checkpoint"] == ckpt.id


def test_a_checkpoint_that_is_picked_brings_its_question_which_the_order_of_words_decides(visit, shipped):
    at = visit(PAGE)
    put(at, "classify_checkpoint", shipped("punctuate").id)
    assert at.segmented_control(key="classify_show").value == "endings"
    assert at.text_area(key="classify_text").value == CLASSES["endings"].examples[0].text
    for text, expected in (("The door is open", "statement"), ("Is the door open", "question")):
        assert looked_at(put(at, "classify_text", text)) == expected


def test_what_the_corpus_says_of_a_sentence_stands_below_it(visit, shipped):
    sentence, ending = corpus("endings").split("test")[0]
    at = visit(PAGE, text=sentence, checkpoint=shipped("punctuate").id)
    assert step_view_of(at)["text"]["note"] == f"In the corpus: {ending} · not seen in training"
    assert step_view_of(visit(PAGE, text="zzz", checkpoint=shipped("punctuate").id))["text"] is None


@pytest.mark.parametrize("of", ["head", "rollout"])
def test_of_a_long_passage_the_first_tokens_are_drawn_and_all_are_read(visit, ckpt, of):
    text = "my love is as a fever, longing still " * 100
    at = visit(PAGE, text=text, layer="1", head="2", of=of, pair="500:2")
    reading = transformer.attend(ckpt, text)
    tokens = len(reading.tokens["src"])
    assert tokens > LONGEST
    assert sum(f"{LONGEST} of {tokens:,} tokens" in caption.value for caption in at.caption) == 1
    assert len(shown(at, "features won")) == len(added(at)) == len(chips(at, "tokens read")) == LONGEST
    header, arrays = picture(at)
    drawn = header["kinds"]["encoder"]
    assert drawn["whole"] == [tokens, tokens]
    assert len(drawn["queries"]) == len(drawn["keys"]) == SIDE
    whole = head_of(reading, Selection("encoder", 1, 2, of=of)).weights
    np.testing.assert_allclose(arrays["weights"], whole[:SIDE, :SIDE], atol=1e-6)
    assert sum(array.nbytes for array in arrays.values()) < 1_000_000


@pytest.mark.parametrize("which", ["", "JULIET"])
def test_the_numbers_shown_are_the_librarys_and_a_link_brings_them_back(visit, ckpt, which):
    at = visit(PAGE, text=TEXT, **{"class": which}, layer="1", head="2")
    reading = transformer.attend(ckpt, TEXT)
    order = list(bars(at))
    assert np.allclose(list(bars(at).values()), reading.logits.exp().sort(descending=True).values, atol=1e-6)
    assert order == [ckpt.classes[i] for i in reading.logits.argsort(descending=True)]
    assert looked_at(at) == (which or order[0])
    assert chips(at, "tokens read") == [
        *labels((piece.text for piece in ckpt.source_tokenizer.pieces(TEXT)), ckpt.source_tokenizer)]
    heat = picture(at)[1]["weights"]
    assert np.allclose(heat, reading.attentions["encoder"][1, 2].numpy(), atol=1e-6)
    again = visit(PAGE, **at.query_params)
    assert again.query_params == at.query_params and added(again) == added(at)
    found = pool(ckpt, reading)
    assert [int(n) for n in shown(at, "features won")] == [
        found.winners.tolist().count(token) for token in range(len(heat))]
    which = ckpt.classes.index(which or order[0])
    assert np.allclose(added(at), found.contributions[:, which], atol=0.0051)
    assert np.allclose(step_view_of(at)["rows"][0]["added"], found.contributions[:, which], atol=1e-6)
    table = at.dataframe[0].value
    assert table["position"].tolist() == found.winners.tolist()
    assert table["adds"].sum() + found.bias[which] == pytest.approx(
        float(reading.logits[which] - reading.logits.mean()), abs=1e-4)


def test_another_text_looks_at_its_own_likeliest_class(visit, ckpt):
    at = visit(PAGE, text=TEXT, **{"class": "JULIET"})
    assert looked_at(at) == "JULIET"
    other = "What, with my tongue in your tail? nay, come again,\nGood Kate; I am a gentleman."
    put(at, "classify_text", other)
    likeliest = ckpt.classes[int(transformer.attend(ckpt, other).logits.argmax())]
    assert looked_at(at) == likeliest == at.query_params["class"]
    assert "isn't by any of the ten" in step_view_of(at)["text"]["note"]


def test_mean_pooling_says_that_nothing_is_won(visit, place):
    ckpt = place(decoder_layers=0, pooling="mean", n_classes=3)
    at = visit(PAGE, checkpoint=ckpt.id, text="Go on.", **{"class": "class 1"})
    assert "every token has the same share of every feature**, 1/6" in words(at, "markdown")
    assert not any("features won" in element.value for element in at.get("html"))
    rows = ckpt.model.encode(torch.tensor([ckpt.tokenizer.encode("Go on.")])).x[0]
    logits = rows @ ckpt.model.output.weight.T / 6
    assert np.allclose(added(at), logits[:, 1] - logits.mean(dim=1), atol=0.0051)


def test_nothing_typed_has_an_empty_state_and_a_text_that_cannot_be_read_is_one_sentence(visit):
    at = visit(PAGE, text="  \n")
    assert "Type or paste a passage" in at.info[0].value
    assert not at.error
    for text, message in (
            ("word " * 1_200, "this text has 1,200 tokens; the model reads at most 1,024. Please shorten it"),
            ("?!", "there is nothing to read; type a sentence")):
        put(at, "classify_text", text)
        assert [plain(error.value) for error in at.error] == [message]
    put(at, "classify_text", "")
    assert "Type or paste a passage" in at.info[0].value


# The smallest run


@pytest.mark.slow
def test_two_sentences_train_in_a_process_of_their_own_and_can_be_tried(visit, home):
    at = press(visit(PAGE, show="toy"), "classify_toy_train")
    name = at.query_params["toy_run"]
    folder = home / "runs" / name
    assert (folder / "sentences.csv").read_text() == "text,label\nthis is awesome,positive\ni hated it,negative\n"
    assert at.button(key="classify_toy_train").disabled
    assert len(list((home / "runs").glob("[!.]*"))) == 1
    until(lambda: not alive(folder), lambda: (folder / "log.txt").read_text())
    at = visit(PAGE, **at.query_params)  # somebody who left and comes back
    assert any(text.value == "**Trained: step 200 of 200**" for text in at.markdown)
    ckpt = transformer.load(folder / "best")
    for text, label in (("this is awesome", "positive"), ("i hated it", "negative")):
        put(at, "classify_toy_text", text)
        said = transformer.attend(ckpt, text).logits
        assert ckpt.classes[int(said.argmax())] == label
        assert said.max().exp() > 0.9
        assert looked_at(at) == at.query_params["toy_class"] == label
        assert len(shown(at, "features won")) == 3
    put(at, "classify_toy_positive", "what a day")
    assert any(text.value == "**Trained: step 200 of 200** on other sentences:" for text in at.markdown)
    assert any(text.value == "positive: this is awesome\nnegative: i hated it" for text in at.text)


@pytest.mark.parametrize(("changes", "message"), [
    ({"toy_positive": "  "}, "the positive sentence is empty"),
    ({"toy_negative": "?!"}, "the negative sentence is empty"),
    ({"toy_positive": "I hated it!"}, "have the same words"),
])
def test_sentences_that_teach_nothing_start_nothing(visit, home, changes, message):
    at = press(visit(PAGE, show="toy", **changes), "classify_toy_train")
    assert message in at.error[0].value
    assert not list(home.glob("runs/toy-*"))


@pytest.fixture
def fake(home, monkeypatch):
    """A toy's folder whose process is this one, or nobody's."""
    def make(name=RUN, *, running: bool):
        folder = home / "runs" / name
        folder.mkdir(parents=True)
        record = identify(os.getpid()) | ({} if running else {"start_time": 1})
        run_files.write_json(folder / "launch.json", record)
        (folder / "log.txt").write_text("a line\nKilled by <nobody>")
        return folder

    monkeypatch.setattr(toy, "launch", lambda *_, **__: None)
    return make


def test_a_second_click_starts_nothing(visit, home, fake):
    folder = fake(running=False)
    at = visit(PAGE, show="toy", toy_run=RUN)
    run_files.write_json(folder / "launch.json", identify(os.getpid()))  # the first click has been answered meanwhile
    press(at, "classify_toy_train")
    assert "Loading PyTorch, a few seconds." in words(at, "markdown")
    assert at.button(key="classify_toy_train").disabled
    assert [path.name for path in (home / "runs").glob("[!.]*")] == [RUN]


def test_a_run_under_way_shows_its_loss_and_is_stopped_by_its_button(visit, fake, monkeypatch):
    folder = fake(running=True)
    run_files.write_json(folder / "status.json", {"state": "running", "step": 0, "steps": 200})
    run_files.append(folder / "metrics.jsonl", {"step": 10, "loss": 1.25})
    at = visit(PAGE, show="toy", toy_run=RUN)
    assert any(text.value == "**Training: step 10 of 200**" for text in at.markdown)
    assert {"step": 10, "loss": 1.25} in rows_of(at.get("vega_lite_chart")[0])
    signals = []
    monkeypatch.setattr("transformer.jobs.launch.os.kill", lambda *what: signals.append(what))
    press(at, "classify_toy_stop")
    assert [pid for pid, _ in signals] == [os.getpid()]


def test_a_run_that_died_says_so_with_the_end_of_its_log(visit, fake):
    fake(running=False)
    at = visit(PAGE, show="toy", toy_run=RUN)
    assert "The training process died" in at.error[0].value
    assert at.code[0].value == "a line\nKilled by <nobody>"
    assert not at.button(key="classify_toy_train").disabled


def test_too_many_at_once_are_refused(visit, fake):
    for i in range(quotas.TOYS):
        fake(f"toy-20260101-12000{i}-00ff", running=True)
    at = press(visit(PAGE, show="toy"), "classify_toy_train")
    assert "small runs are training on this server; the limit is 4" in at.error[0].value


def test_old_toys_make_room_and_other_runs_stay(home, fake):
    for i in range(toy.KEPT + 3):
        fake(f"toy-20260101-1200{i:02}-00ff", running=False)
    (home / "runs" / "toy-mine").mkdir()
    name = toy.start_toy("good", "bad")
    left = sorted(path.name for path in (home / "runs").glob("[!.]*"))
    assert len(left) == toy.KEPT + 1
    assert {"toy-mine", name, f"toy-20260101-1200{toy.KEPT + 2}-00ff"} <= set(left)


@pytest.mark.parametrize("name", ["../../etc", "toy-x", RUN])
def test_a_run_that_is_not_here_is_said(visit, name):
    at = visit(PAGE, show="toy", toy_run=name)
    assert "is gone" in at.info[0].value


def test_a_long_text_that_is_not_on_the_screen_stays_out_of_the_link_without_a_word(visit):
    at = visit(PAGE, show="toy", text="My life is my foe's debt. " * 80, toy_positive="so good")
    assert "too long" not in words(at, "caption")
    assert at.query_params["toy_positive"] == "so good"
    assert "text" not in at.query_params


def test_an_encoder_reads_a_second_text_with_the_first_and_a_model_of_one_text_has_none(visit, home, tmp_path):
    hf = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "it", "rains", "is", "dry", "wet"]
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(1)
    hf.BertForSequenceClassification(hf.BertConfig(
        vocab_size=len(words), hidden_size=12, num_attention_heads=2, num_hidden_layers=1, intermediate_size=8,
        initializer_range=0.5, id2label={0: "follows", 1: "does not"})).save_pretrained(tmp_path / "theirs")
    out = import_model(tmp_path / "theirs", home / "imports" / "pairs")
    pairs = transformer.load(out)
    at = visit(PAGE, checkpoint=pairs.id, text="it rains")
    alone = list(bars(at).values())
    put(at, "classify_second", "it is wet")
    (row,) = step_view_of(at)["rows"]
    assert row["tokens"] == ["[CLS]", "it", "rains", "[SEP]", "it", "is", "wet", "[SEP]"]
    expected = transformer.attend(pairs, ("it rains", "it is wet")).logits.exp()
    both = list(bars(at).values())
    assert both == pytest.approx(sorted(expected.tolist(), reverse=True), abs=1e-5)
    assert both != pytest.approx(alone, abs=1e-3)
    assert at.query_params["second"] == "it is wet"
    again = visit(PAGE, checkpoint=pairs.id, text="it rains", second="it is wet")
    assert step_view_of(again)["rows"][0]["tokens"] == row["tokens"]
    assert "classify_second" not in [one.key for one in visit(PAGE).text_input]
