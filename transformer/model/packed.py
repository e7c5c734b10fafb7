"""A decoder whose weights are stored in the order in which a CPU multiplies several rows fastest.

Worth it for many sentences: reordering costs the time of a few steps, and a second copy of the weights.
"""

from copy import deepcopy

import torch
from torch import Tensor, nn

from transformer.model.models import Transformer
from transformer.model.norms import Linear

NARROWEST = 256  # d_model; below it packing gains nothing
ONCE = ("cross.k_proj", "cross.v_proj")  # computed once for a source
LARGEST = 250_000_000  # parameters that are copied: 1 GB


class PackedLinear(nn.Module):
    """A linear map by oneDNN, with its weights in oneDNN's own order."""

    def __init__(self, linear: Linear):
        super().__init__()
        self.weight, self.bias = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach()), linear.bias

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")


def can_pack(model: Transformer) -> bool:
    """Whether packing helps: wide float32 weights on a CPU that oneDNN supports, and few enough to be copied."""
    return (torch.backends.mkldnn.is_available() and model.config.d_model >= NARROWEST
            and sum(one.numel() for one in model.parameters()) <= LARGEST
            and all(one.is_cpu and one.dtype == torch.float32 for one in model.parameters()))


@torch.no_grad()
def pack(model: Transformer) -> Transformer:
    """A copy of the model with a packed decoder, sharing everything else; the model itself if packing would not
    help."""
    if not can_pack(model):
        return model
    in_place: dict[int, object] = {id(one): one for one in (*model.parameters(), *model.buffers())}
    if model.config.encoder_layers:
        in_place[id(model.encoder)] = model.encoder
    for name, module in (*model.decoder.named_modules(), ("output", model.output)):
        if isinstance(module, Linear) and not name.endswith(ONCE):
            in_place[id(module)] = PackedLinear(module)
    return deepcopy(model, in_place)
