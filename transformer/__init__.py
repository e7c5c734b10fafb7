"""A transformer whose attention can be looked at: load a checkpoint, step it, read every head."""

from transformer.attention_view.html import show
from transformer.beam import beam_tree
from transformer.checkpoint import Checkpoint, load
from transformer.data.corpora import corpus
from transformer.decoding import Candidate, Sampling, Step, next_step, start, steps
from transformer.reading import attend
from transformer.search import translate

__all__ = ["Candidate", "Checkpoint", "Sampling", "Step", "attend", "beam_tree", "corpus", "load", "next_step", "show",
           "start", "steps", "translate"]
