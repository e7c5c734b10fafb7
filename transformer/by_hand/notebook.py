"""The lines of Python, with nothing but torch, that give the same numbers as By hand."""

from transformer.by_hand.stages import NORM_EPS, Scale, Settings

POSITIONS = """
angles = torch.arange(len(words))[:, None] / 10_000 ** (torch.arange(0, d, 2) / d)
waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d]
x = x + waves
"""
MASK = "\n    scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)"


def lines(settings: Settings) -> str:
    """A script for numbers drawn by torch. Raises ValueError for our own, which are drawn another way."""
    s = settings
    if s.numbers == "ours":
        raise ValueError("these numbers are not drawn as a notebook draws them; choose torch's")
    again = f"torch.manual_seed({s.seed})\n" if s.numbers == "torch" else ""
    return f"""import torch
from torch.nn.functional import layer_norm

sentence = {s.sentence!r}
words = sentence.replace(',', '').split()
dc = {{word: i for i, word in enumerate(sorted(set(words)))}}
ids = torch.tensor([dc[word] for word in words])
d, d_k, d_v, heads = {s.d}, {s.d_k}, {s.d_v}, {s.heads}

torch.manual_seed({s.seed})
embed = torch.nn.Embedding(len(dc), d)
x = embed(ids).detach()
{POSITIONS if s.positions else ""}
{again}contexts = []
for head in range(heads):
    W_q, W_k, W_v = torch.rand(d_k, d), torch.rand(d_k, d), torch.rand(d_v, d)
    q, k, v = x @ W_q.T, x @ W_k.T, x @ W_v.T
    scores = {_scores(s.scaling)}{MASK if s.causal else ""}
    weights = torch.softmax(scores, dim=-1)
    contexts.append(weights @ v)

# the rest of a block
W_o, W_1, W_2 = torch.rand(d, heads * d_v), torch.rand(4 * d, d), torch.rand(d, 4 * d)
attended = torch.cat(contexts, dim=-1) @ W_o.T
y = layer_norm(x + attended, (d,), eps={NORM_EPS})
output = layer_norm(y + (y @ W_1.T).relu() @ W_2.T, (d,), eps={NORM_EPS})
"""


def _scores(scale: Scale) -> str:
    """q k^T under a scale, as Python."""
    if scale.split:
        return f"(q / {scale.width} ** {scale.power / 2}) @ (k / {scale.width} ** {scale.power / 2}).T"
    by = "1" if scale.width is None else scale.width if scale.power == 1 else f"{scale.width} ** {scale.power}"
    return f"q @ k.T / {by}"
