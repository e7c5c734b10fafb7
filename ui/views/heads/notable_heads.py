"""Which heads a measure names: the ones that exceed what was not learned, by a stated margin."""

import numpy as np

MARGIN = 0.2


def named_heads(trained: np.ndarray, untrained: np.ndarray, even: float, *, margin: float = MARGIN,
                ) -> list[tuple[int, int]]:
    """Of shares (layers, H), the heads above both baselines by `margin` of what is left up to 1, largest first.

    The baselines are the largest of all heads with random weights, as the largest trained ones are looked for too, and
    a head that looks at all alike.
    """
    baselines = [float(np.nanmax(untrained))] if np.isfinite(untrained).any() else []
    baselines += [even] if np.isfinite(even) else []
    if not baselines:
        return []
    base = max(baselines)
    least = base + margin * (1 - base)
    found = [(float(trained[at]), at) for at in np.ndindex(trained.shape) if trained[at] >= least]
    return [at for _, at in sorted(found, key=lambda pair: (-pair[0], pair[1]))]
