"""The values that the product lists for a setting, so that a new one is tested as soon as it is listed."""

from typing import Literal, get_args, get_origin

from pydantic import BaseModel


def choices(config: type[BaseModel], field: str) -> tuple:
    """All values of a field that is a `Literal`, without None: `choices(TrainConfig, "optimizer")`."""
    annotation = config.model_fields[field].annotation
    literals = [part for part in (annotation, *get_args(annotation)) if get_origin(part) is Literal]
    return get_args(literals[0])
