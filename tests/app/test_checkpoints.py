"""The page of checkpoints: what is listed and shown is what the files and the models say."""

import io
import re
import zipfile
from types import SimpleNamespace
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch

import transformer
from transformer.analysis import tensors
from transformer.analysis.difference import attention_distance, untrained_twin
from transformer.analysis.roles import untrained
from transformer.analysis.sample import sentence_with_target
from transformer.analysis.trial import try_sentences
from transformer.basics.formatting import duration
from transformer.checkpoints.checkpoint import describe, save, snapshots
from transformer.settings.config import TrainConfig
from transformer.text.corpora import PairCorpus
from ui.page.pages import PAGES
from ui.state.work_queue import PACE
from ui.views.checkpoints.card import _zipped
from ui.views.checkpoints.tokenizer import matches
from ui.views.checkpoints.trial import _badness
from ui.views.checkpoints.weights import effective_rank

from .conftest import SENTENCES
from .heads_checkpoints import make
from .page import ROOT, plain, press, put, table_of, words

PAGE = "checkpoints"


def test_it_lists_what_is_there_and_opens_the_card_of_the_first(visit, home):
    (home / "uploads" / "bad").mkdir(parents=True)
    (home / "uploads" / "bad" / "config.json").write_text("{")
    at = visit(PAGE)
    listed = table_of(at, "Checkpoints")
    for about in (describe(ROOT / "checkpoints" / name) for name in ("translate", "write", "classify")):
        assert about.id in listed and f"{about.meta['parameters']:,}" in listed
    assert at.query_params["checkpoint"] == describe(ROOT / "checkpoints" / "translate").id
    assert "bad/config.json is not readable JSON" in words(at, "caption")


@pytest.mark.parametrize("name", ["translate", "write", "classify"])
def test_a_card_leads_to_every_other_page_that_shows_its_model(visit, name):
    about = describe(ROOT / "checkpoints" / name)
    at = visit(PAGE, checkpoint=about.id)
    opened = {link.proto.page: dict(parse_qsl(link.proto.query_string)) for link in at.get("page_link")
              if link.proto.page not in (PAGE, "train")}
    assert opened == {page.name: page.address(about.id) for page in PAGES.values()
                      if page.name != PAGE and page.shows(about.config)}


def test_what_a_checkpoint_from_elsewhere_says_of_itself_is_shown_as_text(visit, home, writer, tiny_tokenizer):
    markup = "![x](http://a.b/c.png)"
    save(home / "uploads" / "mine", writer.model, tokenizer=tiny_tokenizer,
         files={"README.md": f"# <b>Hi</b> {markup}".encode()},
         train=TrainConfig(task="language-model", corpus=markup))
    for view in ("test", "compare", "card"):
        at = visit(PAGE, view=view, checkpoint=describe(home / "uploads" / "mine").id)
        texts = [one.value for one in (*at.info, *at.caption, *at.markdown, *at.error)]
        assert not any("![x]" in text for text in (*texts, *(one.label for one in at.button)))
    assert "![x]" in words(at, "code")
    assert "No training curve" in words(at, "info")


def test_training_steps_are_named_by_the_card_and_leave_the_picker_free(visit):
    early = snapshots(ROOT / "checkpoints" / "write")[0]
    about = describe(early)
    assert about.id.startswith(f"write-{early.name}@") and about.step == int(early.name)
    at = visit(PAGE, checkpoint=describe(ROOT / "checkpoints" / "write").id)
    assert about.id not in at.selectbox(key="checkpoints_checkpoint").options
    assert [link for link in at.get("page_link") if about.id.partition("@")[2] in link.proto.query_string]
    at = visit(PAGE, checkpoint=about.id)
    assert at.selectbox(key="checkpoints_checkpoint").value == about.id and not at.error


# the tokenizer


def test_a_piece_is_found_by_text_and_by_id_with_its_neighbours(visit, shipped):
    ckpt = shipped("translate")
    at = visit(PAGE, view="tokenizer", search="▁red")
    id = at.session_state["checkpoints_piece"]
    assert ckpt.tokenizer.piece(id) == "▁red"
    weight = ckpt.model.tgt_embedding.tokens.weight
    cosines = torch.cosine_similarity(weight, weight[id:id + 1])
    cosines[id] = -2
    best = int(cosines.argmax())
    row = table_of(at, "Neighbours")
    assert f">{best}<" in row and f"{float(cosines[best]):+.4f}" in row
    for search in (str(id), "␣red"):  # as it is shown
        assert visit(PAGE, view="tokenizer", search=search).session_state["checkpoints_piece"] == id


def test_of_pieces_that_contain_a_text_the_equal_one_is_first_and_then_the_shortest():
    pieces = ["▁other", "her", "▁there", "Ġhe", "the", "a", "▁He", "9"]
    tokenizer = SimpleNamespace(vocab_size=len(pieces), piece=pieces.__getitem__)
    assert [pieces[id] for id in matches(tokenizer, "he")] == ["Ġhe", "her", "the", "▁He", "▁other", "▁there"]
    assert [pieces[id] for id in matches(tokenizer, "9")] == ["9"]
    assert matches(tokenizer, "2") == [2]


# the weights


def test_every_tensor_is_listed_with_its_numbers(visit, shipped):
    at, expected = visit(PAGE, view="weights", checkpoint=shipped("write").id), tensors.frame(shipped("write"))
    shown = at.dataframe[0].value
    assert shown[["tensor", "stored as"]].values.tolist() == expected[["name", "dtype"]].values.tolist()
    assert shown["shape"].tolist() == [" × ".join(map(str, shape)) for shape in expected["shape"]]
    numbers = ["mean", "spread", "norm", "least", "most"]
    np.testing.assert_allclose(shown[numbers], expected[numbers], rtol=1e-5)
    put(at, "checkpoints_picture", True)
    assert not at.error


@pytest.mark.parametrize(("view", "params"), [
    *(("tokenizer", {"search": search, "piece": "nan"})
      for search in ("", "   ", "<b>", "$x$", "zzzzzzz", "🦀", "99999999999", "a" * 200)),
    *(("weights", {"tensor": tensor, "layer": "99", "head": "nan", "kind": "x"})
      for tensor in ("", "nothing", "../../etc", "decoder.norm.weight"))])
def test_any_search_and_any_tensor_that_an_address_names_is_answered(visit, shipped, view, params):
    at = visit(PAGE, view=view, checkpoint=shipped("write").id, **params)
    assert not at.error
    if view == "weights":
        assert at.session_state["checkpoints_tensor"] in shipped("write").model.state_dict()


def test_effective_rank_counts_directions_that_matter():
    assert effective_rank(np.array([3.0, 0, 0])) == pytest.approx(1)
    assert effective_rank(np.ones(4)) == pytest.approx(4)
    assert effective_rank(np.zeros(4)) == 0


# the test set


@pytest.fixture
def corpus(monkeypatch) -> PairCorpus:
    found = PairCorpus("eng-fra", "0" * 64, "made up", "nobody", {**SENTENCES, "test": {
        "I am cold.": ["J'ai froid."], "Go on.": ["Continue.", "Poursuis !"], "I like red wine.": ["Zut."]}})
    monkeypatch.setattr("transformer.evaluation.held_out.corpus", lambda name: found)
    return found


def test_sentences_are_tried_and_the_worst_comes_first(visit, shipped, corpus):
    frame, test = visit(PAGE, view="test", worst="on").dataframe[0].value, corpus.splits["test"]
    assert set(frame["source"]) == set(test)
    assert list(frame["chrF"]) == sorted(frame["chrF"])
    for _, row in frame.iterrows():
        references = test[row["source"]]
        sentence = sentence_with_target(shipped("translate"), row["source"], references[0], references)
        (expected,) = try_sentences(shipped("translate"), [sentence])
        assert row["translation"] == expected.output
        assert (row["chrF"], row["nats"]) == pytest.approx((expected.chrf, expected.loss), rel=1e-4)


def test_where_nothing_is_translated_the_greatest_loss_is_the_worst():
    tried = [SimpleNamespace(chrf=None, loss=loss) for loss in (1.0, 3.0, 2.0)]
    assert [one.loss for one in sorted(tried, key=_badness)] == [3.0, 2.0, 1.0]


def test_a_large_model_is_tried_when_it_is_asked_to(visit, corpus, monkeypatch):
    monkeypatch.setattr("ui.state.work_queue.LARGE", 1_000)
    at = visit(PAGE, view="test")
    assert not at.dataframe
    weights = describe(ROOT / "checkpoints" / "translate").meta["parameters"]
    assert f"It takes about {duration(50 * weights / PACE)}." in [caption.value for caption in at.caption]
    press(at, "checkpoints_try")
    assert set(at.dataframe[0].value["source"]) == set(corpus.splits["test"])


def test_a_checkpoint_without_a_corpus_is_tried_on_one_of_its_kind_and_says_so(visit, home, translator, tiny_tokenizer,
                                                                              corpus):
    save(home / "uploads" / "mine", translator.model, tokenizer=tiny_tokenizer)
    at = visit(PAGE, view="test", checkpoint=describe(home / "uploads" / "mine").id)
    assert "does not name its training data" in words(at, "caption")
    assert set(at.dataframe[0].value["source"]) == set(corpus.splits["test"])


def test_an_upload_cannot_have_a_file_of_the_server_read(visit, home, writer, tiny_tokenizer, tmp_path, monkeypatch):
    secret = tmp_path / "secret.txt"
    secret.write_text("we see a dog at home. " * 50)
    save(home / "uploads" / "mine", writer.model, tokenizer=tiny_tokenizer,
         train=TrainConfig(task="language-model", corpus=str(secret)))
    for shared in ("1", ""):  # else it could have been read
        monkeypatch.setenv("HEADSUP_SHARED", shared)
        at = visit(PAGE, view="test", checkpoint=describe(home / "uploads" / "mine").id)
        shown = " ".join([*(text.value for text in at.text), *(str(frame.value.to_dict()) for frame in at.dataframe)])
        assert ("a dog at home" in shown) != bool(shared)


# comparing


def test_a_model_is_compared_with_itself_untrained(visit, shipped):
    ckpt = shipped("write")
    at = visit(PAGE, view="compare", checkpoint=ckpt.id, kind="decoder", layer="1", head="2")
    assert "write, untrained" in table_of(at, "The two")
    changes = {row["tensor"]: row["relative change"] for _, row in at.dataframe[0].value.iterrows()}
    began = untrained(ckpt.config, seed=ckpt.description.train.seed)
    a, b = (model.decoder.layers[0].attention.q_proj.weight for model in (ckpt.model, began))
    assert changes["decoder.layers.0.attention.q_proj.weight"] == pytest.approx(float((b - a).norm() / a.norm()),
                                                                               rel=1e-5)
    distances = table_of(at, "Distance of every decoder head")
    text = "ROMEO:\nO, she doth teach"
    late, early = (transformer.attend(one, text) for one in (ckpt, untrained_twin(ckpt)))
    far = attention_distance(late.attentions["decoder"], early.attentions["decoder"], late.masks["decoder"])[1, 2]
    found = re.search(r'data-layer="1" data-head="2" data-measure="distance">([^<]+)<', distances)
    assert float(found[1]) == pytest.approx(float(far), abs=1e-6)


def test_training_steps_are_compared(visit):
    early = describe(snapshots(ROOT / "checkpoints" / "write")[0])
    at = visit(PAGE, view="compare", checkpoint=describe(ROOT / "checkpoints" / "write").id, against="step")
    assert at.selectbox(key="checkpoints_step").value == early.id and early.id in table_of(at, "The two")
    at = visit(PAGE, view="compare", checkpoint=early.id, against="step")  # there is none before the first
    assert at.session_state["checkpoints_against"] == "untrained" and not at.error
    late, early = (describe(folder) for folder in (ROOT / "checkpoints" / "translate",
                                                   snapshots(ROOT / "checkpoints" / "translate")[0]))
    at = visit(PAGE, view="compare", against="other", other=early.id)
    assert late.id in table_of(at, "The two") and early.id in table_of(at, "The two")
    assert at.query_params["other"] == early.id
    assert not at.error
    again = visit(PAGE, view="compare", against="other", other=late.id)
    assert any("Both are the same" in info.value for info in again.info)


def test_both_are_measured_on_the_same_sentences(visit, shipped, corpus):
    at = visit(PAGE, view="compare")
    press(at, "checkpoints_measure")
    assert "on 3 held-out texts" in table_of(at, "Quality")
    assert "BLEU" in table_of(at, "Quality")


@pytest.mark.parametrize("text", ["   ", "<b>$x$</b>", "🦀" * 50, "word " * 2_000])
def test_any_text_to_compare_on_is_answered(visit, made, lasting, text):
    at = visit(PAGE, view="compare", checkpoint=made("translator").id, text=text)
    assert len(at.error) <= 1  # that it is too long, and by how much
    assert text.strip() == "" or not at.error or "shorten" in at.error[0].value


def test_tokenizers_that_differ_leave_no_difference_cell_by_cell(visit, home, tiny_tokenizer, writer, shipped):
    folder = home / "uploads" / "mine"
    save(folder, writer.model, tokenizer=tiny_tokenizer)
    at = visit(PAGE, view="compare", checkpoint=shipped("write").id, against="other", other=describe(folder).id,
               text="go on a bit")
    assert not at.error
    assert "is only in" in "".join(text.value for text in at.text)


def test_a_checkpoint_is_downloaded_whole_and_as_a_page_else_it_is_said_why_not(visit, shipped, tmp_path, monkeypatch):
    folder = ROOT / "checkpoints" / "write"
    with zipfile.ZipFile(io.BytesIO(_zipped(folder))) as file:
        file.extractall(tmp_path)
    assert transformer.load(tmp_path / "write").id == shipped("write").id
    at = visit(PAGE, checkpoint=shipped("write").id)
    assert [one.proto.disabled for one in at.get("download_button")] == [False, False]
    monkeypatch.setattr("ui.views.checkpoints.card.LARGEST_ZIP", 1_000)
    monkeypatch.setattr("transformer.publishing.weights.LARGEST", 1_000)
    at = visit(PAGE, checkpoint=shipped("write").id)
    (button,) = [one.proto for one in at.get("download_button")]
    assert button.disabled and "It does not run in a browser: its weights have" in button.help
    assert "MB): copy the folder write" in words(at, "caption")


def test_what_an_imported_model_may_have_seen_is_said(visit, home):
    ckpt = make(home, "writer")
    save(home / "imports" / "theirs", ckpt.model, tokenizer=ckpt.tokenizer, meta={"imported_from": "x"})
    said = plain(" ".join(caption.value for caption in visit(PAGE, checkpoint="theirs", view="test").caption))
    assert "it may have seen in training: how well the model predicts each token" in said
    assert "not seen in training" not in said and "best weights" not in said and "languages" not in said
    ours = plain(" ".join(caption.value for caption in visit(PAGE, checkpoint=ckpt.id, view="test").caption))
    assert "texts not seen in training" in ours and "which also selected its best weights" in ours
