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
    """One page. name: of its script and in its address; icon: of Google's Material Symbols; sentence: in the menu;
    blurb: on the front page; shows: which models can be seen on it; view: what its address says besides to show one."""

    name: str
    title: str
    icon: str
    group: str
    sentence: str
    blurb: str
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
HOME = Page(name="home", title="Home", icon="home", group="", sentence="", blurb="")
PAGES = {page.name: page for page in (
    Page(
        name="translate", title="Translate", icon="translate", group=STEP, shows=_translates,
        sentence="English to French, one token at a time, with every head of an encoder-decoder.",
        blurb="English to French with an encoder-decoder: encoder, decoder and cross-attention of every step, the ten "
              "likeliest next tokens to choose from, branches, and the reference translations of known sentences."),
    Page(
        name="write", title="Write", icon="edit", group=STEP, shows=_writes,
        sentence="Shakespeare, one character at a time, with every head of a decoder.",
        blurb="Shakespeare with a decoder alone, character by character: causal attention over all that was read, "
              "temperature and top-k, and links that bring back exactly this text."),
    Page(
        name="classify", title="Classify", icon="label", group=STEP, shows=_only_encodes,
        sentence="Who is speaking? An encoder with pooling, and which token won each feature.",
        blurb="Who is speaking? An encoder with max pooling on a passage of Shakespeare: the probabilities, which "
              "token won each feature, what it adds; and the smallest training run there is, two sentences, to watch "
              "from start to end."),
    Page(
        name="by_hand", title="By hand", icon="calculate", group=LOOK, shows=_decodes, view={"part": "trained"},
        sentence="Attention on one sentence, number by number, from the ids to a whole block.",
        blurb="Attention on one sentence with every number in sight, from the ids to a whole block; why the scores are "
              "divided by √d_k, how heads fold into the batch, three well-known slips, and the same steps in a trained "
              "head."),
    Page(
        name="masks", title="Masks", icon="grid_on", group=LOOK, shows=_translates,
        sentence="Every mask on your own sentences, as numbers in the softmax, and what leaks without it.",
        blurb="Who may look at whom in a small batch of your own sentences: padding, causal and cross masks, what the "
              "softmax makes of them in float32 and float16, and what leaks when one is switched off."),
    Page(
        name="positions", title="Positions", icon="waves", group=LOOK, shows=_every, view={"view": "Trained"},
        sentence="Sinusoidal, learned and rotary positions, and a head without them.",
        blurb="How a model knows the order of its tokens: sinusoidal curves and their wavelengths, learned and rotary "
              "positions, and what a head does when they are left out."),
    Page(
        name="train", title="Train", icon="model_training", group=KEEP,
        sentence="Train a model and watch its loss fall and its heads form.",
        blurb="A task, a model and a device, and the loss falls while you watch, with samples, on a corpus of your own "
              "if you like; then every head is moved through the training with a slider. A run goes on when you close "
              "the page."),
    Page(
        name="heads", title="Heads", icon="troubleshoot", group=KEEP, shows=_every,
        sentence="What every head does over many sentences, and what is lost without it.",
        blurb="What every head does over held-out text, beside the same model untrained; what is lost when one is "
              "switched off; and what a single prediction is made of: the logit lens, direct effects, attribution."),
    Page(
        name="checkpoints", title="Checkpoints", icon="inventory_2", group=KEEP, shows=_every,
        sentence="Open, inspect, try, compare and import checkpoints.",
        blurb="Any checkpoint opened: its card, tokenizer and every tensor, tried on its test set, compared with "
              "another or an earlier step; your own files and Hugging Face models brought in."),
    Page(
        name="library", title="Library", icon="code", group=KEEP,
        sentence="The same in Python: five lines, run on your sentence.",
        blurb="Five lines of the Python library behind these pages, run on any checkpoint and a sentence of your own, "
              "each beside what it gives; and a notebook that goes on from there."),
)}


def stepper_of(config: ModelConfig) -> Page:
    """The page that runs a model on a text: every model has one."""
    return next(page for page in PAGES.values() if page.group == STEP and page.shows(config))
