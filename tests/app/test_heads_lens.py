"""The lenses, and choosing what the views of one prediction are about, without a browser."""

import pytest
import streamlit as st

import transformer
from tests.labels import labels_of
from transformer.analysis.jacobian_lens import fit_jacobian_lens, read_jacobian_lens, write_jacobian_lens
from transformer.analysis.lens import read_layers, read_source
from transformer.analysis.sample import read_texts
from transformer.analysis.token_inputs import inputs_of_step
from transformer.analysis.tuned_lens import read_tuned_lens
from ui.figures import plain_label

from .heads_checkpoints import make, make_without_tokenizer
from .page import figure_of, press, put, table_cells

PAGE, OPENING = "heads", {"view": "lens", "depths": "open"}
TEXT = "I like red wine."


def spoken(at) -> list[dict[str, str]]:
    """The cells of the tokens that are asked about."""
    return [cell for cell in table_cells(figure_of(at, "depths")) if "next" in cell]


def cells_of(at, position: object) -> list[dict[str, str]]:
    """The cells of a position, by depth."""
    return [cell for cell in table_cells(figure_of(at, "depths")) if cell.get("position") == str(position)]


def positions_of(at) -> list[int]:
    """The positions that are drawn."""
    return sorted({int(cell["position"]) for cell in table_cells(figure_of(at, "depths")) if "position" in cell})


def ranks(at) -> dict[str, dict[str, str]]:
    """The cell of the rank of the token asked about, by depth."""
    return {cell["depth"]: cell for cell in table_cells(figure_of(at, "depths candidates")) if "followed-rank" in cell}


def test_it_opens_with_every_depth_of_every_token_said(open_page, shipped):
    at = open_page()
    said = list(transformer.steps(shipped("translate"), TEXT))
    table = [cell for cell in table_cells(figure_of(at, "depths")) if "depth" in cell]
    deepest = shipped("translate").config.decoder_layers
    assert len(table) == (1 + deepest) * len(said)
    last = [cell for cell in table if cell["depth"] == str(deepest)]
    for cell, step in zip(last, said, strict=True):
        likeliest = step.top(1)[0]
        assert float(cell["value"]) == pytest.approx(likeliest.probability, rel=1e-4)
        assert cell["text"] == plain_label(likeliest.piece)
    assert not at.error
    assert {"view": "lens", "text": TEXT, "position": "5", "colour": "likeliest"}.items() <= at.query_params.items()


@pytest.mark.parametrize(("settings", "text"), [
    ({}, "I am cold."), ({"norm_position": "post", "embedding_norm": True}, "Go on."),
    ({"decoder_layers": 1}, "Go on."),
    ({"encoder_layers": 0, "positions": "rotary"}, "I am cold."), ({"encoder_layers": 0, "pad_id": None}, "He is")])
def test_the_likeliest_of_each_depth_and_the_rank_of_what_is_said_are_the_librarys(open_page, place, settings, text):
    ckpt = place(**settings)
    at = open_page(checkpoint=ckpt.id, text=text, position="4", more="3")
    *_, last = transformer.steps(ckpt, text, max_steps=3 if "encoder_layers" in settings else 100)
    lens = read_layers(inputs_of_step(last), positions=[4], follow=(*last.tokens, last.id)[5])
    found = table_cells(figure_of(at, "depths candidates"))
    for depth in range(len(lens.ids)):
        top = [cell for cell in found if cell["depth"] == str(depth) and "rank" in cell]
        assert [int(cell["id"]) for cell in top] == lens.ids[depth, 0].tolist()
        assert [float(cell["probability"]) for cell in top] == pytest.approx(
            lens.probabilities[depth, 0].tolist(), rel=1e-3)
    assert [int(cell["followed-rank"]) for cell in ranks(at).values()] == lens.rank[:, 0].tolist()


def test_choosing_another_token_reads_nothing_again(open_page, monkeypatch, shipped):
    at = open_page()
    assert at.query_params["position"] == "5"  # rouge, its longest piece
    read = []
    monkeypatch.setattr("ui.views.heads.lens.read_layers", lambda *given, **options: read.append(given))
    put(at, "heads_position", 4)
    assert at.query_params["position"] == "4"
    assert "vin" in at.get("vega_lite_chart")[0].proto.alt
    put(at, "heads_colour", "rank")
    deepest = str(shipped("translate").config.decoder_layers)
    ranks = [int(cell["value"]) for cell in table_cells(figure_of(at, "depths")) if cell.get("depth") == deepest]
    assert ranks == [1] * 8  # greedy: what comes next is the likeliest
    assert not read


def test_another_text_or_checkpoint_is_asked_about_where_it_begins_to_be_worth_it(open_page, shipped):
    at = open_page(position="7")
    put(at, "heads_text", "Go on.")
    assert at.query_params["text"] == "Go on."
    assert at.query_params["position"] == "0"
    at = open_page(position="5")
    put(at, "heads_checkpoint", shipped("write").id)
    assert at.query_params["text"].startswith("ROMEO:")  # the example of the other gave way
    assert at.query_params["position"] == "24"  # its 23rd is a space
    put(at, "heads_position", 3)
    assert at.query_params["position"] == "3"
    put(at, "heads_more", 2)
    assert at.query_params["position"] == "3"


def test_a_translation_that_is_typed_is_what_is_asked_about(open_page, shipped):
    ckpt, target = shipped("translate"), "J'adore le vin."
    at = open_page(target=target, position="2")
    ids = ckpt.tokenizer.encode(target)
    forced = list(transformer.steps(ckpt, TEXT, forced=dict(enumerate(ids)), max_steps=len(ids) + 1))
    found = spoken(at)
    assert [cell["text"] for cell in found] == labels_of(forced[-1])[1:]
    of_said = ranks(at)
    p = forced[2].logits.softmax(-1)
    assert int(of_said[str(ckpt.config.decoder_layers)]["followed-rank"]) == 1 + int((p > p[ids[2]]).sum())


def test_a_decoder_can_be_asked_about_tokens_inside_the_text(open_page, shipped):
    ckpt = shipped("write")
    at = open_page(checkpoint=ckpt.id, text="ROMEO:\nO", position="2", more="4")
    found = spoken(at)
    written = [step.piece for step in transformer.steps(ckpt, "ROMEO:\nO", max_steps=4)]
    assert [cell["text"] for cell in found][:7] == ["O", "M", "E", "O", ":", "↵", "O"]
    assert [cell["text"] for cell in found][7:] == [plain_label(piece, longest=None) for piece in written]
    assert "'E' after position 2" in at.get("vega_lite_chart")[0].proto.alt
    fresh = open_page(checkpoint=ckpt.id, text="ROMEO:\nO")
    letters = [step.piece.strip("▁ ") for step in transformer.steps(ckpt, "ROMEO:\nO", max_steps=8)]
    assert fresh.query_params["position"] == str(7 + letters.index(max(letters, key=len)))  # that the model wrote


def test_a_long_text_shows_a_window_and_is_asked_by_number(open_page, shipped):
    at = open_page(checkpoint=shipped("write").id, text="O, she doth teach " * 8, position="70")
    assert at.number_input(key="heads_position").value == 70
    assert positions_of(at) == [*range(63, 75)]


def test_a_classifier_is_read_whole(open_page, shipped):
    ckpt = shipped("classify")
    at = open_page(checkpoint=ckpt.id, text="My life is my foe's debt.")
    expected = transformer.attend(ckpt, "My life is my foe's debt.").logits.exp()
    (last,) = [cell for cell in table_cells(figure_of(at, "depths")) if cell.get("depth") == "2"]
    assert float(last["value"]) == pytest.approx(float(expected.max()), rel=1e-4)
    assert at.query_params["class"] == ckpt.classes[int(expected.argmax())]
    other = ckpt.classes[int(expected.argmin())]
    put(at, "heads_class", other)
    of_class = ranks(at)
    assert of_class["2"]["followed-rank"] == str(len(ckpt.classes))


@pytest.mark.parametrize("view", ["lens", "direct", "attribution"])
def test_without_a_text_it_asks_for_one_and_one_too_long_is_an_error_with_the_limit(visit, shipped, view):
    for text in ("", "   "):
        at = visit("heads", view=view, text=text)
        assert [info.value for info in at.info] == ["Type a sentence above."]
        assert not at.error
        assert not at.get("vega_lite_chart")
    for name, limit in (("write", 400), ("translate", 256), ("classify", 400)):
        at = visit("heads", view=view, checkpoint=shipped(name).id, text="a b " * 300)
        assert [f"at most {limit}" in error.value for error in at.error] == [True], name


NONSENSE = {"position": "nan", "more": "inf", "colour": "<b>", "against": "1e99", "effect": "a-b-c-d", "steps": "nan",
            "baseline": "$x$", "class": "\n"}


@pytest.mark.parametrize(("view", "params", "position"), [
    ("lens", NONSENSE, "5"), ("direct", NONSENSE, "5"), ("attribution", NONSENSE, "5"),
    ("direct", {"position": "-7", "more": "-2", "against": "-77", "effect": f"cross--1-{10**30}", "steps": "-8"}, "0"),
    ("lens", {"position": "1e300", "more": "1e300"}, "7")])
def test_an_address_of_nonsense_opens_the_defaults(visit, view, params, position):
    at = visit("heads", view=view, **params)
    assert not at.error and at.query_params["position"] == position and at.query_params["steps"] == "64"


def test_a_checkpoint_without_a_tokenizer_is_asked_by_ids_and_has_no_text_to_fit_a_lens_on(open_page, home):
    ckpt = make_without_tokenizer(home, encoder_layers=0, decoder_layers=2, pad_id=None, banned_ids=(3,))
    at = open_page(checkpoint=ckpt.id)
    assert not at.error
    assert at.query_params["text"] == "5 6 7 8 9"
    first = next(iter(transformer.steps(ckpt, "5 6 7 8 9")))
    assert [cell["text"] for cell in spoken(at)][:5] == ["6", "7", "8", "9", str(first.id)]
    put(at, "heads_lens", "jacobian")
    assert not at.error
    assert ["does not name its training corpus" in info.value for info in at.info] == [True]
    at = open_page(checkpoint=ckpt.id, text=":red[x]")
    assert ["reads ids, whole numbers" in error.value for error in at.error] == [True]
    assert ":red[" not in at.error[0].value


@pytest.mark.parametrize("name", ["translate", "write"])
def test_the_tuned_lens_is_offered_and_says_what_its_maps_make(open_page, shipped, name):
    ckpt = shipped(name)
    at = open_page(checkpoint=ckpt.id, lens="tuned")
    assert not at.error and at.query_params["lens"] == "tuned"
    position = int(at.query_params["position"])
    whole = at.session_state["heads_kept_answer"][1].whole
    found = read_layers(whole, positions=[position], through=read_tuned_lens(ckpt))
    assert [float(cell["value"]) for cell in cells_of(at, position)] == pytest.approx(
        found.probabilities[:, 0, 0].tolist(), rel=1e-3)
    assert any("linear map, which was fitted" in text.proto.help for text in at.markdown)
    put(at, "heads_lens", "logit")
    assert any("never trained to be read" in text.proto.help for text in at.markdown)


def tiny_lens(ckpt, home):
    """A Jacobian lens as somebody has had it fitted before: of two texts."""
    texts = ["I am cold.", "Go on."]
    read = read_texts(ckpt, texts, texts if ckpt.config.task == "translation" else None)
    lens = fit_jacobian_lens(ckpt, read, corpus="mine")
    write_jacobian_lens(ckpt, lens, home / "analysis")
    return lens


@pytest.mark.parametrize("settings", [{}, {"encoder_layers": 0, "positions": "rotary"}, {"norm_position": "post"}])
def test_the_jacobian_lens_that_is_kept_is_read_and_nothing_is_fitted(open_page, place, home, settings, monkeypatch):
    ckpt = place(**settings)
    lens = tiny_lens(ckpt, home)
    monkeypatch.setattr("ui.state.caches.fit_jacobian_lens", None)
    at = open_page(checkpoint=ckpt.id, text="I am cold.", lens="jacobian", position="3")
    assert not at.error and at.query_params["lens"] == "jacobian"
    found = read_layers(at.session_state["heads_kept_answer"][1].whole, positions=[3], through=lens)
    assert [float(cell["value"]) for cell in cells_of(at, 3)] == pytest.approx(
        found.probabilities[:, 0, 0].tolist(), rel=1e-3)
    assert any("a mean Jacobian" in text.proto.help and lens.about in text.proto.help for text in at.markdown)


def test_the_jacobian_lens_is_fitted_for_a_large_model_on_request_and_kept_for_all(open_page, home, monkeypatch):
    monkeypatch.setattr("ui.state.work_queue.LARGE", 100)
    ckpt = make(home, "translator", dropout=0.11)  # one that no other test has had a lens of
    at = open_page(checkpoint=ckpt.id, text="a dog is cold.", lens="jacobian")
    assert not at.error and "Fit the Jacobian lens" in [button.label for button in at.button]
    assert not [one for one in at.get("html") if 'class="depths' in one.value]
    press(at, "heads_jacobian")
    kept = read_jacobian_lens(ckpt, home / "analysis")
    assert kept.corpus == ckpt.description.train.corpus and kept.predictions >= 500
    found = read_layers(at.session_state["heads_kept_answer"][1].whole, positions=[0], through=kept)
    assert float(cells_of(at, 0)[0]["value"]) == pytest.approx(float(found.probabilities[0, 0, 0]), rel=1e-3)


def test_a_choice_that_ends_the_fitting_counts_on_a_link_too(open_page, home, monkeypatch):
    at_work = []

    def fit(*given, **options):
        at_work.append(dict(st.session_state["arriving"]))
        raise ValueError("ended")

    monkeypatch.setattr("ui.state.caches.fit_jacobian_lens", fit)
    at = open_page(checkpoint=make(home, "translator", dropout=0.13).id, text="a dog is cold.", lens="jacobian")
    assert at_work == [{}]  # nothing puts the address's choice back over another
    assert [error.value for error in at.error] == ["ended"]


def test_the_source_is_read_at_every_depth_of_the_encoder(open_page, place, home):
    ckpt = place(encoder_layers=3)
    lens = tiny_lens(ckpt, home)
    at = open_page(checkpoint=ckpt.id, text="I am cold.", lens="jacobian", states="source", position="2")
    assert not at.error and at.query_params["states"] == "source"
    answer = at.session_state["heads_kept_answer"][1]
    found = read_source(answer.whole, through=lens, follow=answer.predicted[2])
    for position in found.positions:
        assert [float(cell["value"]) for cell in cells_of(at, position)] == pytest.approx(
            found.probabilities[:, position, 0].tolist(), rel=1e-3)
    chosen = int(found.probability[-1].argmax())  # where the token that is asked about is likeliest
    assert at.query_params["source"] == str(chosen)
    for source in (chosen, 1):
        put(at, "heads_source", source)
        assert at.query_params["source"] == str(source)
        assert [int(cell["followed-rank"]) for cell in ranks(at).values()] == found.rank[:, source].tolist()
    assert "KL" not in figure_of(at, "depths candidates")
    put(at, "heads_lens", "logit")
    plain = read_source(answer.whole).probabilities[:, 0, 0]
    assert [float(cell["value"]) for cell in cells_of(at, 0)] == pytest.approx(plain.tolist(), rel=1e-3)
    put(at, "heads_text", "Go on.")
    assert not at.error


def test_what_has_no_tuned_lens_no_source_or_no_decoder_has_no_such_choice(open_page, shipped, place):
    at = open_page(checkpoint=place().id, text="I am cold.", lens="tuned")
    assert not at.error and at.query_params["lens"] == "logit"
    at = open_page(checkpoint=shipped("classify").id, lens="jacobian", states="source")
    assert not at.error and at.query_params["lens"] == "logit"
    assert not [one for one in at.get("button_group") if one.key in ("heads_lens", "heads_states")]
    at = open_page(lens="tuned", states="source")
    assert not at.error and figure_of(at, "depths")
    assert not [one for one in at.get("button_group") if one.key == "heads_states"]


def test_a_source_token_that_is_not_there_is_another(open_page, place, home):
    ckpt = place()
    tiny_lens(ckpt, home)
    for source in ("-1", "99", "nan", "<b>"):
        at = open_page(checkpoint=ckpt.id, text="Go on.", lens="jacobian", states="source", source=source)
        assert not at.error and 0 <= int(at.query_params["source"]) < 7, source


def test_of_a_long_source_a_window_is_shown_and_asked_by_number(open_page, place, home):
    ckpt = place(max_len=300, encoder_layers=1, decoder_layers=1, norm_kind="rms")
    tiny_lens(ckpt, home)
    at = open_page(checkpoint=ckpt.id, text="We can go home. " * 8, lens="jacobian", states="source", source="70")
    assert not at.error and at.number_input(key="heads_source").value == 70
    assert positions_of(at) == [*range(63, 75)]
    put(at, "heads_source", 0)
    assert positions_of(at) == [*range(12)]
