"""Training speed against nanoGPT's `train.py`: the same sizes, text, batches and device, in turns, in one run.

    git clone https://github.com/karpathy/nanoGPT
    python benchmarks/train.py --nanogpt nanoGPT [--device cpu]

Both are run as their users run them, as commands, and both report by their own clocks: nanoGPT in what it prints,
Heads Up by its metrics. The first steps of each are left out. Neither has biases; ours records attention on the way.
"""

import pickle
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated

import numpy as np
import torch
import typer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from transformer.jobs import run_files
from transformer.text.corpora import corpus

ROOT = Path(__file__).resolve().parents[1]
SHAPES = {  # nanoGPT's "baby GPT" for laptops (its README), one in between, and its "baby GPT" for GPUs
    "laptop": {"layers": 4, "heads": 4, "d_model": 128, "length": 64, "rows": 12},
    "small": {"layers": 4, "heads": 6, "d_model": 192, "length": 256, "rows": 16},
    "baby": {"layers": 6, "heads": 6, "d_model": 384, "length": 256, "rows": 64},
}
WARM_UP = 10  # steps left out; with torch.compile the first one takes minutes
ITERATION = re.compile(r"^iter (\d+): .*time ([\d.]+)ms", re.MULTILINE)


def prepare(nanogpt: Path, folder: Path) -> None:
    """nanoGPT's code and its character data, in a folder of its own."""
    for name in ("train.py", "model.py", "configurator.py"):
        shutil.copy(nanogpt / name, folder / name)
    found = corpus("tiny-shakespeare")
    characters = sorted(set(found.text))
    ids = {character: i for i, character in enumerate(characters)}
    data = folder / "data" / "shakespeare_char"
    data.mkdir(parents=True)
    for split, name in (("train", "train"), ("validation", "val")):
        np.array([ids[c] for c in found.split(split)], dtype=np.uint16).tofile(data / f"{name}.bin")
    (data / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(characters)}))


def run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2_000:]}")
    return done.stdout


def theirs(folder: Path, shape: dict[str, int], *, device: str, steps: int, compiled: bool) -> float:
    """Tokens a second of nanoGPT's train.py."""
    dtype = "bfloat16" if device.startswith("cuda") else "float32"
    output = run([sys.executable, "train.py", "--dataset=shakespeare_char", f"--device={device}", f"--dtype={dtype}",
                  f"--compile={compiled}", f"--n_layer={shape['layers']}", f"--n_head={shape['heads']}",
                  f"--n_embd={shape['d_model']}", f"--block_size={shape['length']}", f"--batch_size={shape['rows']}",
                  "--gradient_accumulation_steps=1", f"--max_iters={steps}", f"--eval_interval={10 * steps}",
                  "--eval_iters=1", "--log_interval=1", "--dropout=0.0", "--always_save_checkpoint=False"], folder)
    times = [float(time) for step, time in ITERATION.findall(output) if int(step) >= WARM_UP]
    return shape["rows"] * shape["length"] * len(times) / (sum(times) / 1e3)


def ours(folder: Path, shape: dict[str, int], *, device: str, steps: int, compiled: bool) -> float:
    """Tokens a second of `python -m transformer train`."""
    out = folder / "ours"
    shutil.rmtree(out, ignore_errors=True)
    size = {"d_model": shape["d_model"], "n_heads": shape["heads"], "decoder_layers": shape["layers"],
            "d_ff": 4 * shape["d_model"], "max_len": shape["length"], "dropout": 0, "activation": "gelu",
            "biases": "[]", "vocab_size": 100, "tokenizer": "char", "batch_tokens": shape["rows"] * shape["length"],
            "eval_every": 10 * steps, "save_every": 10 * steps, "compile": str(compiled).lower()}
    run([sys.executable, "-m", "transformer", "train", "--preset", "gpt2", "--out", str(out), "--device", device,
         "--steps", str(steps), *(part for name, value in size.items() for part in ("--set", f"{name}={value}"))], ROOT)
    rows = [row for row in run_files.read(out / "metrics.jsonl") if "loss" in row and row["step"] >= WARM_UP]
    steps_timed, seconds = rows[-1]["step"] - rows[0]["step"], rows[-1]["seconds"] - rows[0]["seconds"]
    return shape["rows"] * shape["length"] * steps_timed / seconds


def main(
    nanogpt: Annotated[Path, typer.Option(help="A clone of github.com/karpathy/nanoGPT.", exists=True)],
    device: Annotated[str, typer.Option(help="cpu or cuda")] = "cpu",
    shape: Annotated[list[str], typer.Option(help=f"Of {', '.join(SHAPES)}; again for more.")] = [],  # noqa: B006
    steps: Annotated[int, typer.Option(min=2 * WARM_UP)] = 60,
    rounds: Annotated[int, typer.Option(help="Turns of each.", min=1)] = 3,
    compiled: Annotated[bool, typer.Option("--compile", help="torch.compile on both sides.")] = False,
) -> None:
    """Time both in turns and print a table."""
    rows = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        prepare(nanogpt, folder)
        for which in shape or (["baby"] if device.startswith("cuda") else ["laptop", "small"]):
            times = {"ours": [], "peer": []}
            for _ in range(rounds):
                for side, measure in (("peer", theirs), ("ours", ours)):
                    times[side].append(measure(folder, SHAPES[which], device=device, steps=steps, compiled=compiled))
            mine, other = median(times["ours"]), median(times["peer"])
            rows.append({"name": which, "ours": mine, "peer": other, "ratio": mine / other})
    machine = torch.cuda.get_device_name() if device.startswith("cuda") else platform.processor() or platform.machine()
    print(f"{machine}, {torch.get_num_threads()} threads, {steps} steps, median of {rounds} turns\n")
    print(f"{'tokens a second':20} {'ours':>10} {'nanoGPT':>10} {'ratio':>7}")
    for row in rows:
        print(f"{row['name']:20} {row['ours']:>10,.0f} {row['peer']:>10,.0f} {row['ratio']:>7.2f}")


if __name__ == "__main__":
    typer.run(main)
