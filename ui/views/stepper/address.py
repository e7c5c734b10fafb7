"""The address of a page that steps through a text, and links from elsewhere that lead to one of its steps."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from transformer.checkpoints.checkpoint import Checkpoint
from transformer.inference.decoding_tree import DecodingTree
from transformer.inference.sampling_settings import SETTINGS, SamplingSetting
from ui.components.attention_view import Selected
from ui.page.link import (
    Field,
    apart,
    arrive_at,
    decimal,
    fits,
    leave_at,
    quiet,
    text,
    whole,
    without_texts,
    write,
)
from ui.views.stepper import what_if
from ui.views.stepper.controller import forget_decoding, sampling_of

LAST_STEP = 1_000_000
MOST_CHOICES = 2_000


def choices_field() -> Field:
    """What is chosen at which step."""
    return apart(Field({}, read_choices, write_choices))


def step_fields(*, example: str, temperature: float = 0.0, **selection: Any) -> dict[str, Field]:
    """All that decides the picture. example: the text without one in the address; selection: what is looked at then."""
    sampling = {setting.name: quiet(sampling_field(setting)) for setting in SETTINGS}
    sampling["temperature"] = replace(sampling_field(SETTINGS[0]), default=temperature)  # always in the link
    return {
        "text": text(example), "choices": quiet(choices_field()),
        **sampling,
        "step": apart(whole(None, 0, LAST_STEP)), **Selected.fields(**selection), **what_if.FIELDS}


def sampling_field(setting: SamplingSetting) -> Field:
    """A sampling setting in a link, in the range that its widget offers."""
    least, most, _ = setting.offered
    return whole(setting.off, int(least), int(most)) if isinstance(setting.off, int) else decimal(
        setting.off, least, most)


def arrive(page: str, fields: Mapping[str, Field]) -> dict[str, Any] | None:
    """As `arrive_at`; where somebody has just come to the page, its decoding begins anew."""
    arrival = arrive_at(page, fields)
    if arrival is not None:
        forget_decoding(page)
        what_if.WhatIf(page).change = arrival["change"]
    return arrival


def leave(page: str, fields: Mapping[str, Field], ckpt: Checkpoint, typed: str, decoding: DecodingTree,
          **values: Any) -> None:
    """As `leave_at`, with all that is known of the decoding of what is typed. values: of fields that only this page
    has."""
    leave_at(page, fields, checkpoint=ckpt.id, text=typed, step=decoding.index,
             choices=decoding.branch.departures(sampling_of(page)), change=what_if.changes_of(page), **values)


def address_of_step(checkpoint: str, text: str, *, step: int = 0, selection: Mapping[str, Any] | None = None,
                    **values: Any) -> tuple[dict[str, str], bool]:
    """The query parameters under which a model's page shows a step of a text, and whether the text fits in: without it
    they lead to the model alone. selection: kind, layer and head; values: of other fields of `step_fields`."""
    fields = step_fields(example="")
    params = write(fields, checkpoint, text=text, step=step, **values, **(selection or {}))
    return (params, True) if fits(params) else (without_texts(fields, params), False)


def read_choices(text: str) -> dict[int, int]:
    """"3:17,5:9", as a query string holds it, to {3: 17, 5: 9}; what cannot be read is left out."""
    choices = {}
    for pair in text.split(",")[:MOST_CHOICES]:
        index, _, id = pair.partition(":")
        if index.isascii() and index.isdigit() and id.isascii() and id.isdigit() and len(pair) < 20:
            choices[int(index)] = int(id)
    return choices


def write_choices(choices: Mapping[int, int]) -> str:
    return ",".join(f"{index}:{id}" for index, id in sorted(choices.items()))
