"""Imports published training steps, from folders or revisions on the hub, as the steps of one checkpoint."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from transformer.checkpoints.checkpoint import SNAPSHOTS, describe
from transformer.checkpoints.weights import clean
from transformer.huggingface.folder import Refused
from transformer.huggingface.importing import check_place, default_out, import_folder
from transformer.huggingface.source import LONGEST, Source

OF_ONE_STEP = ("config.json", "model.safetensors", "README.md")  # files that differ from step to step


def import_steps(sources: Sequence[str | Path], out: Path | None = None, *, ids: bool = False,
                 watch: Callable[[int, int], None] = lambda done, of: None) -> Path:
    """Makes one checkpoint of several steps of a training and returns its folder: the last step, with the others under
    snapshots/ as in a run.

    sources: as for `import_model`, each with its step in its revision or in its folder's name (name@step1000,
    checkpoint-1000), or before it as in 1000=folder. out, ids: as there. watch: called with the number of steps done,
    and of all. Raises ValueError, also if steps differ in architecture or tokenizer; then nothing is written.

    >>> exported = transformer.export_model(transformer.load("checkpoints/write"), tmp / "end")
    >>> folder = transformer.import_steps([f"100={exported}", f"200={exported}"], tmp / "steps", ids=True)
    >>> [step.name for step in (folder / "snapshots").iterdir()]
    ['100']
    """
    by_step = numbered(sources)
    out = out or default_out(name_of(by_step))
    check_place(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".import-", dir=out.parent) as private:
        imported: dict[int, Path] = {}
        for step, source in by_step.items():
            watch(len(imported), len(by_step))
            name = out.name if step == max(by_step) else f"{out.name}-{step}"
            with source.opened() as folder:
                imported[step] = import_folder(folder, Path(private) / name, ids=ids, origin=source.origin, step=step)
            _check_same(imported[min(by_step)], imported[step])
        *others, last = imported
        (imported[last] / SNAPSHOTS).mkdir()
        for step in others:
            imported[step].rename(imported[last] / SNAPSHOTS / str(step))
        if out.exists():
            out.rename(Path(private) / "before")
        return imported[last].rename(out)


def numbered(sources: Sequence[str | Path]) -> dict[int, Source]:
    """The sources by their training steps, the earliest first. Raises Refused if one does not give its step, or two are
    the same."""
    by_step: dict[int, Source] = {}
    for text in map(str, sources):
        match = re.fullmatch(r"(\d{1,12})=(.+)", text, re.DOTALL | re.ASCII)
        source = Source.of(match[2] if match else text)
        step = int(match[1]) if match else source.step
        if step is None:
            raise Refused(f"{source.origin} does not say which training step it is; write its number before it: "
                          f"1000={clean(text, longest=LONGEST)}")
        if step in by_step:
            raise Refused(f"{by_step[step].origin} and {source.origin} are both step {step:,}; leave one out, or write "
                          f"its number before it: {step + 1}={clean(match[2] if match else text, longest=LONGEST)}")
        by_step[step] = source
    return dict(sorted(by_step.items()))


def name_of(found: dict[int, Source]) -> str:
    """The name of the whole: that of the model, or the common parent of the folders; else that of the last step."""
    models = {source.model for source in found.values()}
    return models.pop() if len(models) == 1 else found[max(found)].origin


def _check_same(first: Path, other: Path) -> None:
    """Raises Refused if two cannot be steps of one training."""
    one, two = describe(first), describe(other)
    of_one, of_two = one.config.model_dump(), two.config.model_dump()
    if unlike := next((name for name in of_one if of_one[name] != of_two[name]), None):
        raise Refused(f"{two.meta['imported_from']} has {unlike} {of_two[unlike]} and {one.meta['imported_from']} "
                      f"{of_one[unlike]}; steps of one training have one architecture, so import them apart")
    if _tokenizer(first) != _tokenizer(other):
        raise Refused(f"{two.meta['imported_from']} has another tokenizer than {one.meta['imported_from']}, or only "
                      "one of them has any; give both the same tokenizer files, or import them without (--ids)")


def _tokenizer(folder: Path) -> dict[str, str]:
    listed = orjson.loads((folder / "manifest.json").read_bytes())
    return {name: digest for name, digest in listed.items() if name not in OF_ONE_STEP}
