"""Models of the transformers package with random weights."""

import torch


def random_model(name, config, settings, *, seed=7, spread=0.2):
    """A model of this class and this configuration. Norms and biases are random too: none of them are 0 or 1.
    spread: of what is added, or a function that tells it for a parameter."""
    import transformers

    torch.manual_seed(seed)
    model = getattr(transformers, name)(getattr(transformers, config)(**settings)).eval().requires_grad_(False)
    for parameter in model.parameters():
        parameter.add_((spread(parameter) if callable(spread) else spread) * torch.randn_like(parameter))
    return model


def save_random(folder, *what, **options):
    """Saves such a model in a folder, and returns it."""
    model = random_model(*what, **options)
    model.save_pretrained(folder)
    return model
