"""The heads that pages, lessons and documents open with are chosen by measure."""

import re

import numpy as np
import orjson

from transformer.basics.folders import ROLES
from transformer.basics.paths import ROOT
from transformer.checkpoints.openings import OPENINGS

CROSS = re.compile(r"kind=cross&(?:forming_)?layer=(\d+)&(?:forming_)?head=(\d+)")
TEXTS = [ROOT / "README.md", *sorted((ROOT / "lessons").glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")),
         ROOT / "docs" / "pictures.py"]


def aligning() -> tuple[int, int]:
    """The layer and the head of the shipped translator that align best, by its recorded measures."""
    heads = orjson.loads((ROOT / "checkpoints" / "translate" / ROLES).read_bytes())["heads"]
    scores = np.array(heads["cross"]["alignment"]["trained"])
    return tuple(map(int, np.unravel_index(scores.argmax(), scores.shape)))


def test_translate_and_every_link_to_a_head_between_sentences_open_with_the_one_that_aligns_best():
    opening = OPENINGS["translation"]
    assert opening.kind == "cross"
    assert (opening.layer, opening.head) == aligning()
    links = {(file.name, *map(int, found)) for file in TEXTS for found in CROSS.findall(file.read_text("utf-8"))}
    assert links and {one[1:] for one in links} == {aligning()}
