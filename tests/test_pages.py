"""The list of pages, against the scripts there are and the models they show."""

from pathlib import Path

from transformer.settings.config import ModelConfig
from ui.page.pages import EVERY_PAGE, HOME, PAGES, menu, stepper_of

ROOT = Path(__file__).resolve().parents[1]
MODELS = {
    "translate": ModelConfig(),
    "write": ModelConfig(encoder_layers=0),
    "classify": ModelConfig(decoder_layers=0, pooling="max", n_classes=2),
    "fills in": ModelConfig(decoder_layers=0, head="masked"),
    "reads": ModelConfig(decoder_layers=0, head="none"),
}


def test_every_script_is_in_the_list_once():
    scripts = sorted(page.script for page in EVERY_PAGE.values())
    assert scripts == sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py"))
    assert all(name == page.name for name, page in PAGES.items())


def test_the_menu_has_every_page_and_seven_entries_at_most():
    (home, *alone), *sections = menu().values()
    assert home is HOME  # to which the mark leads
    pages = [home, *alone, *(page for section in sections for page in section)]
    assert sorted(page.name for page in pages) == sorted(EVERY_PAGE)
    assert len(alone) + len(sections) <= 7


def test_every_model_has_one_page_that_runs_it_and_is_shown_where_its_attention_is():
    assert {model: stepper_of(config).name for model, config in MODELS.items()} == {
        model: model if model in PAGES else "classify" for model in MODELS}
    shows = {model: {name for name, page in PAGES.items() if page.shows(config)} for model, config in MODELS.items()}
    every = {"positions", "heads", "checkpoints"}
    assert shows == {
        "translate": {"translate", "by_hand", "masks"} | every, "write": {"write", "by_hand"} | every,
        "classify": {"classify"} | every, "fills in": {"classify"} | every, "reads": {"classify"} | every}
