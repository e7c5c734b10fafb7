"""The registry of pages: for the router, for the front page, and for links that open a model on a page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from transformer.settings.config import ModelConfig


def _none(config: ModelConfig) -> bool:
    return False


def _every(config: ModelConfig) -> bool:
    return True


def _translates(config: ModelConfig) -> bool:
    return config.task == "translation"


def _writes(config: ModelConfig) -> bool:
    return config.task == "text"


def _decodes(config: ModelConfig) -> bool:
    return bool(config.decoder_layers)


def _only_encodes(config: ModelConfig) -> bool:
    return not config.decoder_layers


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page. name: of its script and in its address; icon: of Google's Material Symbols; sentence: in the menu and
    on the front page; shows: which models can be seen on it, and needs says so; view: what its address says
    besides to show one."""

    name: str
    title: str
    icon: str
    group: str
    sentence: str
    shows: Callable[[ModelConfig], bool] = _none
    needs: str = "This page is for models of another kind."
    view: Mapping[str, str] = field(default_factory=dict)

    @property
    def script(self) -> str:
        return f"pages/{self.name}.py"

    @property
    def symbol(self) -> str:
        return f":material/{self.icon}:"

    def address(self, checkpoint: str) -> dict[str, str]:
        """The query parameters under which it shows a checkpoint."""
        return {"checkpoint": checkpoint, **self.view}


GROUPS = TRY, UNDERSTAND, RESEARCH = "Try", "Understand", "Research"
HOME = Page(name="home", title="Home", icon="home", group="", sentence="")
PAGES = {page.name: page for page in (
    Page(
        name="translate", title="Translate", icon="translate", group=TRY, shows=_translates,
        needs="This page shows models that translate.",
        sentence="Watch English become French, one token at a time, and choose a different word from the model's."),
    Page(
        name="write", title="Write", icon="edit", group=TRY, shows=_writes,
        needs="This page shows decoder-only models, which write.",
        sentence="Watch a small model write like Shakespeare, one character at a time."),
    Page(
        name="classify", title="Classify", icon="label", group=TRY, shows=_only_encodes,
        needs="This page shows encoder-only models.",
        sentence="Who is speaking? See what each word adds to the answer, and train one in three seconds."),
    Page(
        name="lessons", title="Lessons", icon="school", group=TRY,
        sentence="Go through these pages stop by stop, with questions the model answers, or write your own lesson."),
    Page(
        name="room", title="Room", icon="groups", group=TRY,
        sentence="Take a class through these pages together: phones follow, guess first, and show what they found."),
    Page(
        name="by_hand", title="By hand", icon="calculate", group=UNDERSTAND, shows=_decodes, view={"part": "trained"},
        needs="A trained head can be shown only for models with a decoder.",
        sentence="Compute attention on one sentence, number by number, and make four common mistakes."),
    Page(
        name="masks", title="Masks", icon="grid_on", group=UNDERSTAND, shows=_translates,
        needs="This page shows models that translate, which have every mask: decoder-only models have only the causal "
              "mask, encoder-only models only the padding mask.",
        sentence="See which tokens may look at which, and what goes wrong without a mask."),
    Page(
        name="positions", title="Positions", icon="waves", group=UNDERSTAND, shows=_every, view={"view": "Trained"},
        sentence="See how a model knows the order of its tokens, and what it does without knowing it."),
    Page(
        name="heads", title="Heads", icon="troubleshoot", group=RESEARCH, shows=_every,
        sentence="Find out what each head does, switch heads off, and take a prediction apart."),
    Page(
        name="known", title="Known results", icon="fact_check", group=RESEARCH,
        sentence="Check what papers say of attention: each result is computed again on this machine."),
    Page(
        name="train", title="Train", icon="model_training", group=RESEARCH,
        sentence="Train your own model, and watch its loss fall and its heads form."),
    Page(
        name="checkpoints", title="Checkpoints", icon="inventory_2", group=RESEARCH, shows=_every,
        sentence="Open, test and compare trained models, or bring your own, from Hugging Face too."),
    Page(
        name="library", title="Library", icon="code", group=RESEARCH,
        sentence="Do the same in Python: five lines, run on your sentence."),
)}
EVERY_PAGE = {HOME.name: HOME, **PAGES}


def menu() -> dict[str, list[Page]]:
    """The sections of the menu and their pages; those without a section are entries of their own."""
    return {"": [HOME, *pages_of(TRY)], **{group: pages_of(group) for group in GROUPS if group != TRY}}


def pages_of(group: str) -> list[Page]:
    return [page for page in PAGES.values() if page.group == group]


def stepper_of(config: ModelConfig) -> Page:
    """The page that runs a model on a text: every model has one."""
    return next(page for page in PAGES.values() if page.group == TRY and page.shows(config))
