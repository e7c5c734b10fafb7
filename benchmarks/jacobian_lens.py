"""What a translator's encoder states say through the Jacobian lens, on the hand-aligned pairs: the share of source
words with a piece of their own translation among the five likeliest tokens of one of their pieces. Beside it the same
for another word of the same translation, for the logit lens, and for the token's embedding without layers or position.

python -m benchmarks.jacobian_lens [--checkpoint translate] [--predictions 500]
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from torch import Tensor

import transformer
from transformer.analysis.alignment import words, words_of
from transformer.analysis.alignment_error import AlignedPair, read_aligned
from transformer.analysis.jacobian_lens import PREDICTIONS, JacobianLens, fit_jacobian_lens
from transformer.checkpoints.checkpoint import Checkpoint
from transformer.evaluation.held_out import held_out_sentences

TOP = 5


def pieces_of(text: str, tokenizer) -> list[tuple[int, int | None]]:
    """The pieces of a text, each with its id and the place of its word."""
    pieces = tokenizer.pieces(text)
    return [*zip(tokenizer.encode(text), words_of(text, [(piece.start, piece.end) for piece in pieces]), strict=True)]


@torch.no_grad()
def readings(ckpt: Checkpoint, lens: JacobianLens, text: str) -> dict[str, Tensor]:
    """The likeliest tokens (depths, tokens, TOP) of a text, by how they are read."""
    model, src = ckpt.model, torch.tensor([[*ckpt.source_tokenizer.encode(text), ckpt.end_id]])

    def top(rows: Sequence[Tensor]) -> Tensor:
        return torch.stack([model.project(model.decoder.norm(one)).topk(TOP).indices for one in rows])

    states = [one[0] for one in model.encode(src).inputs]
    embedding = model.src_embedding.tokens(src[0]).float() * model.src_embedding.scale
    return {"jacobian": top([lens.from_source(depth, one) for depth, one in enumerate(states)]), "logit": top(states),
            "embedding": top([embedding]), "embedding, jacobian": top([lens.from_source(0, embedding)])}


def shares(ckpt: Checkpoint, lens: JacobianLens, pairs: Sequence[AlignedPair]) -> dict[str, object]:
    """The share of source words with a sure link that are read as what they are linked to, by depth."""
    hits, total, random = {}, 0, Random(0)
    for pair in pairs:
        source, target = pieces_of(pair.source, ckpt.source_tokenizer), pieces_of(pair.target, ckpt.tokenizer)
        read = readings(ckpt, lens, pair.source)
        for word in sorted({one for one, _ in pair.sure}):
            own = {other for one, other in pair.sure if one == word}
            others = [other for other in range(len(words(pair.target))) if other not in own]
            other = {random.choice(others)} if others else set()
            rows = [at for at, (_, place) in enumerate(source) if place == word]
            total += 1
            for name, wanted, of in (*((name, own, name) for name in read), ("another word", other, "jacobian")):
                ids = {id for id, place in target if place in wanted}
                found = torch.tensor([bool(ids & {*one[rows].flatten().tolist()}) for one in read[of]])
                hits[name] = hits.get(name, 0) + found
    return {"pairs": len(pairs), "words": total, **{
        name: [round(share, 3) for share in (count / total).tolist()] for name, count in hits.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", default="translate")
    parser.add_argument("--predictions", type=int, default=PREDICTIONS)
    options = parser.parse_args()
    ckpt = transformer.load(options.checkpoint)
    sentences = held_out_sentences(ckpt, limit=options.predictions, split="train")
    lens = fit_jacobian_lens(ckpt, sentences, predictions=options.predictions)
    print(json.dumps({"predictions": lens.predictions, **shares(ckpt, lens, read_aligned())}, indent=1))


if __name__ == "__main__":
    main()
