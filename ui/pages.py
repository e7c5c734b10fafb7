"""The pages, each once: for the router, for the front page, and for every link that opens a model in one of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from transformer.config import ModelConfig


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
    on the front page; shows: which models can be seen on it; view: what its address says besides to show one."""

    name: str
    title: str
    icon: str
    group: str
    sentence: str
    shows: Callable[[ModelConfig], bool] = _none
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


GROUPS = STEP, LOOK, KEEP = "Step through a model", "How attention works", "Train and inspect"
HOME = Page(name="home", title="Home", icon="home", group="", sentence="")
PAGES = {page.name: page for page in (
    Page(
        name="translate", title="Translate", icon="translate", group=STEP, shows=_translates,
        sentence="English to French with an encoder-decoder, one token at a time: every head, the candidates, "
                 "branches and beam search."),
    Page(
        name="write", title="Write", icon="edit", group=STEP, shows=_writes,
        sentence="Shakespeare with a decoder, one character at a time: causal attention, temperature and top-k."),
    Page(
        name="classify", title="Classify", icon="label", group=STEP, shows=_only_encodes,
        sentence="Who is speaking? An encoder with pooling, what each token adds, and the smallest training run "
                 "there is."),
    Page(
        name="by_hand", title="By hand", icon="calculate", group=LOOK, shows=_decodes, view={"part": "trained"},
        sentence="Attention on one sentence, number by number, from ids to a whole block, and three classic mistakes."),
    Page(
        name="masks", title="Masks", icon="grid_on", group=LOOK, shows=_translates,
        sentence="Padding, causal and cross masks on your own sentences, and what leaks without them."),
    Page(
        name="positions", title="Positions", icon="waves", group=LOOK, shows=_every, view={"view": "Trained"},
        sentence="Sinusoidal, learned, rotary and ALiBi positions, and what a head does without them."),
    Page(
        name="lessons", title="Lessons", icon="school", group=LOOK,
        sentence="Lessons over these pages, stop by stop, with questions that the model answers; or write your own."),
    Page(
        name="train", title="Train", icon="model_training", group=KEEP,
        sentence="Train a model, watch its loss fall and its heads form."),
    Page(
        name="heads", title="Heads", icon="troubleshoot", group=KEEP, shows=_every,
        sentence="What every head does over many sentences, what is lost without it, and what a prediction is "
                 "made of."),
    Page(
        name="checkpoints", title="Checkpoints", icon="inventory_2", group=KEEP, shows=_every,
        sentence="Open, inspect, test, compare and import checkpoints, Hugging Face models included."),
    Page(
        name="library", title="Library", icon="code", group=KEEP,
        sentence="The same in Python: five lines, run on your sentence."),
)}


def stepper_of(config: ModelConfig) -> Page:
    """The page that runs a model on a text: every model has one."""
    return next(page for page in PAGES.values() if page.group == STEP and page.shows(config))
