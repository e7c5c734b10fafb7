"""A transformer whose attention can be looked at: load a checkpoint, step it, read every head."""

from transformer.checkpoint import Checkpoint, load
from transformer.data.corpora import corpus
from transformer.decoding import Candidate, Sampling, Step, attend, next_step, start, steps
from transformer.search import translate

__all__ = ["Candidate", "Checkpoint", "Sampling", "Step", "attend", "corpus", "load", "next_step", "start", "steps",
           "translate"]
