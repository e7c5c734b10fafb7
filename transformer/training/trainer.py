"""The training loop: exact to resume, whole on disk at every moment, silent to everybody but its run folder."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import orjson
import torch
from safetensors.torch import load_file, load_model, save
from torch import nn

from transformer import checkpoint
from transformer.checkpoint import recover
from transformer.config import RunConfig
from transformer.evaluate import held_out_loss, loss_sum
from transformer.model.models import Transformer
from transformer.training import metrics
from transformer.training.launch import identify
from transformer.training.optim import learning_rate, make_optimizers
from transformer.training.tasks import Task, pinned_attention, prepare

LOG_EVERY = 10
WEIGHT_SNAPSHOTS, ATTENTION_SNAPSHOTS = 8, 48
STATE = "state.safetensors"
Watch = Callable[[dict[str, object]], None]  # called with every row of metrics


class TrainingError(ValueError):
    """A run that cannot go on; the message says why and what to change."""


def choose_device(name: str) -> torch.device:
    """ "auto" is a CUDA GPU, else an Apple one, else the CPU. Raises ValueError for one that is not there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device {name!r} is not to be had here ({reason}); use --device auto") from None
    return device


def log_steps(total: int, count: int) -> set[int]:
    """At most `count` steps from 1 to `total`, evenly spaced by the logarithm of the step."""
    return {round(total ** (i / max(1, count - 1))) for i in range(count)}


class Trainer:
    """One run in its folder: config.json, metrics.jsonl, status.json, last/, best/, snapshots/, attention/."""

    def __init__(self, folder: Path, config: RunConfig, *, device: torch.device, data_dir: Path | None = None):
        """Start a run, or take up the one whose last/ is in the folder, at the step where it was saved."""
        self.folder, self.device = folder, device
        folder.mkdir(parents=True, exist_ok=True)
        last = folder / "last"
        recover(last)
        saved = checkpoint.load(last) if (last / "manifest.json").exists() else None
        self.task: Task = prepare(config, data_dir=data_dir, tokenizer=saved and saved.tokenizer,
                                  source_tokenizer=saved and saved.source_tokenizer)
        self.config = config = self.task.config
        torch.manual_seed(config.train.seed)
        self.model = Transformer(config.model, generator=torch.Generator().manual_seed(config.train.seed)).to(device)
        self.optimizers = make_optimizers(self.model, config.train)
        self.step, self.factor, self.stale, self.best, self.seconds = 0, 1.0, 0, float("inf"), 0.0
        self.loss, self.tokens = 0.0, 0  # since the last row of metrics
        self.threads = torch.get_num_threads()  # sums are split among them: another number, other last bits
        self.stopping = threading.Event()
        half = config.train.precision == "bfloat16" or (
            config.train.precision == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported())
        self.autocast = (lambda: torch.autocast(device.type, torch.bfloat16)) if half else nullcontext
        if saved:
            self._resume(last)
        else:
            metrics.write_json(folder / "config.json", config.model_dump(mode="json"))
            metrics.replace(folder / "metrics.jsonl", b"")
            self._record_pinned()

    @property
    def finished(self) -> bool:
        patience = self.config.train.early_stopping
        return self.step >= self.config.train.steps or (patience is not None and self.stale >= patience)

    def run(self, *, minutes: float | None = None, watch: Watch = lambda row: None) -> str:
        """Train until the last step, `minutes`, or SIGTERM; returns "finished" or "stopped".

        watch is called with every row of metrics. Raises TrainingError where the loss is no longer a number.
        """
        main = threading.current_thread() is threading.main_thread()  # no other may handle signals
        threads = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        handler = signal.signal(signal.SIGTERM, lambda *_: self.stopping.set()) if main else None
        until = time.monotonic() + 60 * minutes if minutes else float("inf")
        self._status("running")
        try:
            state = self._loop(until, watch)
            self.save("last")
            self._status(state)
        except BaseException as error:
            self._status("failed", why=str(error) or type(error).__name__)
            raise
        finally:
            torch.set_num_threads(threads)
            if main:
                signal.signal(signal.SIGTERM, handler or signal.SIG_DFL)
        return state

    def _loop(self, until: float, watch: Watch) -> str:
        train = self.config.train
        weights_at, attention_at = log_steps(train.steps, WEIGHT_SNAPSHOTS), log_steps(train.steps, ATTENTION_SNAPSHOTS)
        began, tokens = time.monotonic(), 0
        while not self.finished:
            if self.stopping.is_set() or time.monotonic() > until:
                return "stopped"
            step_loss, step_tokens, grad_norm, lr = self.train_step()
            self.loss, self.tokens, tokens = self.loss + step_loss, self.tokens + step_tokens, tokens + step_tokens
            if self.step % LOG_EVERY == 0 or self.finished:
                elapsed = time.monotonic() - began
                self.seconds += elapsed
                row = {"step": self.step, "time": time.time(), "seconds": self.seconds,
                       "loss": self.loss / self.tokens, "lr": lr, "grad_norm": grad_norm,
                       "tokens_per_sec": tokens / elapsed, "epoch": self.epoch}
                self._log(row, watch)
                began, tokens, self.loss, self.tokens = time.monotonic(), 0, 0.0, 0
            if self.step in attention_at:
                self._record_pinned()
            if self.step % train.eval_every == 0 or self.finished:
                self._evaluate(watch)
            if self.step in weights_at:
                self.save(f"snapshots/{self.step}", state=False)
            if self.step % train.save_every == 0:
                self.save("last")
        return "finished"

    @property
    def epoch(self) -> float:
        return self.step * self.config.train.accumulate / len(self.task.batches)

    def train_step(self) -> tuple[float, int, float, float]:
        """One optimizer step over `accumulate` batches -> loss in nats (a sum), its tokens, gradient norm, rate."""
        train = self.config.train
        self.model.train()
        first = self.step * train.accumulate
        batches = [self.task.batches[first + i] for i in range(train.accumulate)]
        tokens = sum(batch.tokens for batch in batches)
        lr = learning_rate(self.step, train) * self.factor
        for optimizer in self.optimizers:
            optimizer.zero_grad()
            for group in optimizer.param_groups:
                group["lr"] = lr
        total = 0.0
        for batch in batches:
            with self.autocast():
                loss = loss_sum(self.model, batch.to(self.device), label_smoothing=train.label_smoothing)
            (loss / tokens).backward()
            total += loss.item()
        if total != total or total in (float("inf"), float("-inf")):
            raise TrainingError(f"the loss at step {self.step + 1} is {total}; the weights of the last save are kept: "
                                "resume with a lower lr or a lower clip")
        grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), train.clip or float("inf")).item()
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1
        return total, tokens, grad_norm, lr

    def _evaluate(self, watch: Watch) -> None:
        train = self.config.train
        loss = held_out_loss(self.model, self.task.held_out)
        if loss < self.best:
            self.best, self.stale = loss, 0
            self.save("best", state=False)
        else:
            self.stale += 1
            if train.schedule == "plateau" and self.stale % train.plateau_patience == 0:
                self.factor *= train.plateau_factor
        self._log({"step": self.step, "time": time.time(), "validation_loss": loss, "best": self.best}, watch)

    def _log(self, row: dict[str, object], watch: Watch) -> None:
        metrics.append(self.folder / "metrics.jsonl", row)
        watch(row)

    def _status(self, state: str, *, why: str | None = None) -> None:
        metrics.write_json(self.folder / "status.json", {
            "state": state, "why": why, "step": self.step, "steps": self.config.train.steps, "time": time.time(),
            "best": self.best if self.best < float("inf") else None, "device": str(self.device), "pid": os.getpid(),
            **(identify(os.getpid()) or {})})

    def _record_pinned(self) -> None:
        """attention/<step>.safetensors: what the heads do with the pinned sentences now."""
        folder = self.folder / "attention"
        folder.mkdir(exist_ok=True)
        tensors = {f"{i}.{kind}": weights for i, found in enumerate(pinned_attention(self.model, self.task.pinned))
                   for kind, weights in found.items()}
        metrics.replace(folder / f"{self.step}.safetensors", save(tensors, metadata={"step": str(self.step)}))
        if not (folder / "pinned.json").exists():
            target, source = self.task.tokenizer, self.task.source_tokenizer
            metrics.write_json(folder / "pinned.json", [
                {"source": None if b.src is None else [source.piece(i) for i in b.src[0].tolist()],
                 "target": None if b.tgt is None else [target.piece(i) for i in b.tgt[0].tolist()]}
                for b in self.task.pinned])

    def save(self, name: str, *, state: bool = True) -> None:
        """Write a checkpoint into the run folder; with state, all that resuming needs."""
        files = {"metrics.jsonl": (self.folder / "metrics.jsonl").read_bytes()}
        if state:
            tensors, plain = self._state()
            files[STATE] = save(tensors)
            files["state.json"] = orjson.dumps(plain)
        meta = {"step": self.step, "validation_loss": self.best if self.best < float("inf") else None,
                "device": str(self.device), "seconds": self.seconds, **self.task.about}
        checkpoint.save(self.folder / name, self.model, tokenizer=self.task.tokenizer,
                        source_tokenizer=self.task.source_tokenizer, train=self.config.train, meta=meta, files=files)

    def _state(self) -> tuple[dict[str, torch.Tensor], dict[str, object]]:
        tensors = {"random.cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.device)
        for i, optimizer in enumerate(self.optimizers):
            for parameter, values in optimizer.state_dict()["state"].items():
                for key, value in values.items():
                    tensors[f"optimizer.{i}.{parameter}.{key}"] = torch.as_tensor(value).detach().cpu().contiguous()
        plain = {name: getattr(self, name) for name in ("step", "factor", "stale", "seconds", "loss", "tokens",
                                                       "threads")}
        return tensors, {**plain, "best": self.best if self.best < float("inf") else None}

    def _resume(self, last: Path) -> None:
        load_model(self.model, str(last / "model.safetensors"))
        plain, tensors = orjson.loads((last / "state.json").read_bytes()), load_file(str(last / STATE))
        for name, value in plain.items():
            setattr(self, name, float("inf") if value is None else value)
        for i, optimizer in enumerate(self.optimizers):
            held = optimizer.state_dict()
            held["state"] = {}
            for name, value in tensors.items():
                kind, *where = name.split(".")
                if kind == "optimizer" and int(where[0]) == i:
                    held["state"].setdefault(int(where[1]), {})[where[2]] = value
            optimizer.load_state_dict(held)
        torch.set_rng_state(tensors["random.cpu"])
        if self.device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"], self.device)
        metrics.truncate(self.folder / "metrics.jsonl", self.step)
