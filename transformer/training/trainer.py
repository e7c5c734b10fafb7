"""The training loop: it resumes exactly, its run folder is whole at every moment, and it speaks through that alone."""

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import torch
from safetensors.torch import load_file, load_model
from safetensors.torch import save as to_bytes
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from transformer.basics.folders import recover
from transformer.basics.formatting import how_many
from transformer.basics.resource_errors import disk_is_full, memory_is_full
from transformer.checkpoints import checkpoint
from transformer.evaluation.quality import held_out_sums
from transformer.jobs import run_files
from transformer.jobs.launch import ASKED_TO_STOP
from transformer.jobs.lock import alone, check_free
from transformer.jobs.process import identify
from transformer.jobs.queue import StopFlag
from transformer.model.models import Transformer
from transformer.settings.config import RunConfig, TrainConfig
from transformer.settings.presets import preset as find_preset
from transformer.text.batches import Prefetched
from transformer.training import gpu
from transformer.training.distributed import World, join
from transformer.training.events import RunEvents
from transformer.training.loss import LossSum
from transformer.training.memory_size import check_least, choose_micro_tokens
from transformer.training.optim import WeightAverage, learning_rate, make_optimizers
from transformer.training.record import (
    SAMPLES_FILE,
    WEIGHT_SNAPSHOTS,
    attention_steps,
    forget_after,
    link_pinned,
    log_steps,
    record_attention,
    record_samples,
)
from transformer.training.recorded import UNTRAINED
from transformer.training.tasks import Prepared, prepare

LOG_EVERY = 10
# attributes of the Trainer
RESUMED = ("step", "factor", "stale", "best", "seconds", "loss", "right", "tokens", "read", "threads")
STATE_TENSORS, STATE_VALUES = "state.safetensors", "state.json"  # in last/, beside the weights
HALF_WRITTEN = (".metrics.jsonl.*", ".samples.jsonl.*", ".config.json.*", ".status.json.*", "attention/.*")
Watch = Callable[[dict[str, Any]], None]  # called with every row of metrics
# Settings of a model under which given weights mean the same; a table of learned positions has its length.
FREE = {"dropout", "attention_dropout", "output_dropout", "init", "max_len", "forced_bos_id", "banned_ids", "end_ids"}


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
        raise ValueError(f"device {name!r} is not available here ({reason}); use --device auto") from None
    return device


def compiles(train: TrainConfig, device: torch.device) -> bool:
    """Whether a run compiles its loss. Unless it is said: on a GPU, where all batches are windows of one length; those
    of texts of many lengths are compiled again and again, for minutes."""
    if train.compile is not None:
        return train.compile
    return device.type == "cuda" and train.task == "language-model"


class StepResult(NamedTuple):
    """What one optimizer step learned from."""

    loss: float  # nats, a sum over its tokens
    right: float  # tokens that were the likeliest prediction
    tokens: int
    grad_norm: float
    lr: float


class Trainer:
    """One run in its folder: config.json, metrics.jsonl, samples.jsonl, status.json, last/, best/, snapshots/,
    attention/. Of several processes, the first alone writes into it; no other trainer can from here to the end of
    `run`."""

    def __init__(self, folder: Path, config: RunConfig, *, device: torch.device):
        """Start a run, or resume the one whose last/ is in the folder, at the step that it was saved at. Raises
        ValueError if another process is training it."""
        self.folder, self.world = folder, join(device)
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            if self.first:
                held.enter_context(alone(folder, "training"))
                _tidy(folder)
            self.world.wait()
            self._begin(config)
            self._held = held.pop_all()

    def _begin(self, config: RunConfig) -> None:
        folder, device, last = self.folder, self.world.device, self.folder / "last"
        self.device = device
        saved = checkpoint.load(last) if (last / "manifest.json").exists() else None
        if saved and saved.description.train and config.train.start_from != saved.description.train.start_from:
            raise ValueError(f"start_from: the run {folder.name} has begun, and goes on from its own last weights; "
                             "leave it as it was, or start another run")
        begun = saved or (checkpoint.load(config.train.start_from) if config.train.start_from else None)
        self.task: Prepared = prepare(config, tokenizer=begun and begun.tokenizer,
                                      source_tokenizer=begun and begun.source_tokenizer)
        self.config = config = self._cut_to_fit(self.task.config, saved)
        train = config.train
        self.batches = Prefetched(self.task.batches, pin=device.type == "cuda")
        self.model = Transformer(config.model, generator=torch.Generator().manual_seed(train.seed)).to(device)
        if begun and not saved:
            _take_over(begun, self.model)
        torch.manual_seed(train.seed + self.world.rank)  # dropout; each process its own
        self.average = WeightAverage(self.model, train.ema) if train.ema else None
        self.optimizers = make_optimizers(self.model, train)
        self.step, self.factor, self.stale, self.best, self.seconds = 0, 1.0, 0, float("inf"), 0.0
        self.loss, self.right, self.tokens = 0.0, 0.0, 0  # since the last row of metrics
        self.read = 0  # tokens that have been learned from in all
        self.threads = torch.get_num_threads()  # sums are split among them: another number, other last bits
        self.stopping = StopFlag()
        half = train.precision == "bfloat16" or (
            train.precision == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported())
        self.autocast = (lambda: torch.autocast(device.type, torch.bfloat16)) if half else nullcontext
        loss = LossSum(self.model, train, [_teacher(folder, self.task, device) for folder in train.distill])
        if compiles(train, device):
            loss.compile()
        self.loss_sum = self.world.wrap(loss)
        self.peak = gpu.peak(torch.cuda.get_device_name(device)) if device.type == "cuda" else None
        if train.tensorboard and self.first:
            run_files.tensorboard_writer()  # before anything is written
        if saved:
            self._resume(last)
        elif self.first:
            run_files.replace(folder / "metrics.jsonl", b"")
        self.mirror = run_files.tensorboard(folder) if train.tensorboard and self.first else None
        if self.first:
            run_files.write_json(folder / "config.json", config.model_dump(mode="json"))  # resumed, it may be another
        size = record_attention(folder, 0, self.measured, self.task) if self.first and not saved else 0
        if size and begun:  # what heads do by themselves, with random weights
            random = Transformer(config.model, generator=torch.Generator().manual_seed(train.seed)).to(device)
            record_attention(folder, UNTRAINED, random, self.task)
        self.attention_size = size or self._attention_size()
        self.events = RunEvents(folder, train.steps, until=self.step) if self.first else None

    def _cut_to_fit(self, config: RunConfig, saved: checkpoint.Checkpoint | None) -> RunConfig:
        """The configuration with the size of the pieces that batches are read in: the configured one, the one this run
        had (another would change sums and random numbers), or what fits. Raises TooLarge if nothing does."""
        known = saved and saved.description.train and saved.description.train.micro_tokens
        config = config.set({"micro_tokens": config.train.micro_tokens or known})
        chosen = choose_micro_tokens(config, self.device, length=self.task.batches.longest, processes=self.world.size,
                                     beside=self.world.beside) if self.first else 0
        return config.set({"micro_tokens": int(self.world.sum(chosen)[0])})  # the same for all processes

    @property
    def first(self) -> bool:
        """Whether this is the process that writes."""
        return self.world.rank == 0

    @property
    def measured(self) -> Transformer:
        """The model that is measured, saved and shown: the average of its weights, where there is one."""
        return self.average.model if self.average else self.model

    @property
    def finished(self) -> bool:
        patience = self.config.train.early_stopping
        return self.step >= self.config.train.steps or (patience is not None and self.stale >= patience)

    def run(self, *, minutes: float | None = None, watch: Watch = lambda row: None) -> str:
        """Train until the last step, `minutes`, SIGTERM or Ctrl-C; returns "finished" or "stopped".

        watch is called with every row of metrics. Raises TrainingError if the loss or its gradient is no longer a
        number, memory runs out, the disk is full, the folder is moved, or another process is lost; what was saved
        before stays whole. Raises ValueError for minutes that are not above 0.
        """
        if minutes is not None and not 0 < minutes < math.inf:
            raise ValueError(f"minutes is {minutes:g}; give a number above 0, or leave it out to train to the end")
        main = threading.current_thread() is threading.main_thread()  # no other may handle signals
        handlers = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)
                    } if main else {}
        (self.folder / ASKED_TO_STOP).unlink(missing_ok=True)  # from before
        threads = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        until = time.monotonic() + 60 * minutes if minutes else float("inf")
        try:
            self._status("running")
            state = self._loop(until, watch)
            self.save("last")
            self._link(finished=state == "finished")
            self._status(state, why=self._why_so_early(state, minutes if time.monotonic() > until else None))
        except BaseException as error:
            explained = self._explain(error)
            self._status("failed", why=str(explained) or type(explained).__name__)
            if explained is error:
                raise
            raise explained from error
        finally:
            self.batches.close()
            self._held.close()
            torch.set_num_threads(threads)
            for number, handler in handlers.items():
                signal.signal(number, handler or signal.SIG_DFL)
        return state

    def _on_signal(self, number: int, frame: object) -> None:
        if self.stopping.is_set() and number == signal.SIGINT:  # a second Ctrl-C does not wait for the save
            raise KeyboardInterrupt
        self.stopping.set()

    def _loop(self, until: float, watch: Watch) -> str:
        train = self.config.train
        weights_at = log_steps(train.steps, WEIGHT_SNAPSHOTS)
        attention_at = attention_steps(train.steps, self.attention_size)
        began, tokens, operations, stop = time.monotonic(), 0, 0.0, self._should_stop(until)
        while not self.finished:
            if stop:
                return "stopped"
            step = self.train_step()
            self.loss, self.right = self.loss + step.loss, self.right + step.right
            self.tokens, self.read, tokens = self.tokens + step.tokens, self.read + step.tokens, tokens + step.tokens
            operations += self.operations
            if self.step < LOG_EVERY or self.step % LOG_EVERY == 0 or self.finished:
                elapsed = time.monotonic() - began
                self.seconds += elapsed
                row = {"step": self.step, "time": time.time(), "seconds": self.seconds,
                       "loss": self.loss / self.tokens, "accuracy": self.right / self.tokens, "lr": step.lr,
                       "grad_norm": step.grad_norm, "tokens_per_sec": tokens / elapsed, "epoch": self.epoch,
                       "tokens": self.read, **gpu.usage(self.device)}
                if self.peak:
                    row["peak_share"] = operations / elapsed / self.peak / self.world.size
                self._log(row, watch)
                began, tokens, operations = time.monotonic(), 0, 0.0
                self.loss, self.right, self.tokens = 0.0, 0.0, 0
            if self.events and self.step in attention_at:
                record_attention(self.folder, self.step, self.measured, self.task)
                self.events.recorded(self.step)
                self._link()
            if self.step % train.eval_every == 0 or self.finished:
                self._evaluate(watch)
            if self.step in weights_at:
                self.save(f"{checkpoint.SNAPSHOTS}/{self.step}", resumable=False)
            if self.step % train.save_every == 0:
                self.save("last")
            stop = self._should_stop(until)
        return "finished"

    def _link(self, *, finished: bool = False) -> None:
        """Have it learned which words of pinned pairs belong together, once that is no delay to speak of."""
        if self.first and link_pinned(self.folder, self.task, seconds=self.seconds, finished=finished):
            self.events = RunEvents(self.folder, self.config.train.steps, until=self.step)

    def _should_stop(self, until: float) -> bool:
        """Whether any process was asked to stop, or the time is up; the same in all processes."""
        if self.step % LOG_EVERY == 0 and (self.folder / ASKED_TO_STOP).exists():  # perhaps from another machine
            self.stopping.set()
        return self.world.sum(self.stopping.is_set() or time.monotonic() > until)[0] > 0

    @property
    def epoch(self) -> float:
        return self.step * self.config.train.accumulate / len(self.task.batches)

    def train_step(self) -> StepResult:
        """One optimizer step over `accumulate` batches."""
        train, world = self.config.train, self.world
        self.model.train()
        first = self.step * train.accumulate
        batches = [self.batches[first + i] for i in range(train.accumulate)]
        tokens = sum(batch.tokens for batch in batches)
        self.operations = (train.passes * sum(gpu.operations(self.model, batch) for batch in batches)
                           if self.peak else 0.0)
        lr = learning_rate(self.step, train) * self.factor
        for optimizer in self.optimizers:
            optimizer.zero_grad()
            for group in optimizer.param_groups:
                group["lr"] = lr
        total, right = torch.zeros((), device=self.device), torch.zeros((), device=self.device)
        pieces = [piece for batch in batches
                  for piece in world.share(batch, self.config.model.pad_id).cut(train.micro_tokens)]
        loss_sum = self.loss_sum
        for i, piece in enumerate(pieces):
            more = i + 1 < len(pieces)  # gradients are exchanged once a step
            with loss_sum.no_sync() if more and isinstance(loss_sum, DistributedDataParallel) else nullcontext():
                with self.autocast():
                    loss = loss_sum(piece.to(self.device))
                (loss.nats * world.size / tokens).backward()  # the exchange takes the mean over processes
            total += loss.nats.detach()
            right += loss.right
        total, right = world.sum(*torch.stack([total, right]).tolist())
        if not math.isfinite(total):
            raise TrainingError(self._diverged(f"the loss at step {self.step + 1} is {total}"))
        grad_norm = nn.utils.clip_grad_norm_(self.model.parameters(), train.clip or float("inf")).item()
        if not math.isfinite(grad_norm):  # such a step would spoil every weight
            raise TrainingError(self._diverged(f"the gradient at step {self.step + 1} is {grad_norm}"))
        for optimizer in self.optimizers:
            optimizer.step()
        self.step += 1
        if self.average:
            self.average.update(self.step)
        return StepResult(total, right, tokens, grad_norm, lr)

    def _evaluate(self, watch: Watch) -> None:
        train, world, held_out = self.config.train, self.world, self.task.held_out
        sums = held_out_sums(self.measured, held_out[world.rank::world.size], micro_tokens=train.micro_tokens)
        nats, right, exact = world.sum(*sums)
        labels = sum(batch.tokens for batch in held_out)
        loss = nats / labels
        if loss < self.best:
            self.best, self.stale = loss, 0
            self.save("best", resumable=False)
        else:
            self.stale += 1
            if train.schedule == "plateau" and self.stale % train.plateau_patience == 0:
                self.factor *= train.plateau_factor
        row: dict[str, object] = {"step": self.step, "time": time.time(), "validation_loss": loss,
                                  "validation_accuracy": right / labels}
        if train.task == "translation":
            row["validation_exact"] = exact / sum(len(batch.labels) for batch in held_out)
        self._log(row | {"best": self.best}, watch)
        if self.first:
            if not _failed(self.folder):  # another process may just have written that
                self._status("running")
            record_samples(self.folder, self.step, self.measured, self.task, train)

    def _log(self, row: dict[str, object], watch: Watch) -> None:
        if self.events:
            run_files.append(self.folder / "metrics.jsonl", row)
            self.events.logged(row)
            if self.mirror:
                self.mirror(row)
        watch(row)

    def _explain(self, error: BaseException) -> BaseException:
        """An error that tells its reader what to do, in place of one that does not."""
        if memory_is_full(error):
            return TrainingError(f"{self.device} ran out of memory at step {self.step + 1}; resume with a lower "
                                 f"micro_tokens (same result), or start a smaller model")
        if disk_is_full(error):
            return TrainingError(f"the disk is full at step {self.step} ({os.strerror(error.errno or 0)}); "
                                 f"{self._last_save()}. Free some space and resume")
        if isinstance(error, FileNotFoundError) and not (self.folder / "config.json").exists():
            return TrainingError(f"{self.folder} was moved or deleted at step {self.step}; where it is now, resume "
                                 "goes on from its last save")
        if isinstance(error, RuntimeError) and (lost := self.world.lost()) and not _failed(self.folder):
            which = f"process {lost[0]} was" if len(lost) == 1 else f"processes {' and '.join(map(str, lost))} were"
            return TrainingError(f"{which} killed, perhaps because memory ran out; {self._last_save()}")
        return error

    def _saved_at(self) -> int | None:
        """The step of last/, which another process may have just saved."""
        try:
            return checkpoint.describe(self.folder / "last").step
        except checkpoint.CheckpointError:
            return None

    def _last_save(self) -> str:
        step = self._saved_at()
        return "nothing had been saved before" if step is None else f"the save of step {step} is whole"

    def _diverged(self, what: str) -> str:
        """A sentence on what is not a number, and how to go on from the last save, which was made before it."""
        train, saved_at = self.config.train, self._saved_at()
        if self.events:
            self.events.raise_alert("not_a_number", self.step + 1)
        if self.step == (saved_at or 0):  # no step was taken since, so the rate is not to blame
            after = "" if saved_at is None else " after the save"
            return (f"{what}, in the first step{after}, so a lower lr comes too late. Resume with another seed, which "
                    f"reads other batches (--set seed={train.seed + 1}), or start again with a lower lr")
        clip = train.clip / 2 if train.clip else 1.0
        return (f"{what}; {self._last_save()}. Resume with a lower lr and a lower clip, such as "
                f"--set lr={train.lr / 2:g} --set clip={clip:g}")

    def _why_so_early(self, state: str, minutes: float | None) -> str | None:
        """Why a run ended before its last step; None if it did not, or was asked to. minutes: its limit, if reached."""
        if state == "finished" and self.step < self.config.train.steps:
            return f"no improvement of the held-out loss for {how_many(self.stale, 'evaluation')}"
        if state == "stopped" and minutes is not None:
            return f"its time was up ({minutes:g} minute{'s' * (minutes != 1)})"
        return None

    def _status(self, state: str, *, why: str | None = None) -> None:
        """Write status.json. A process that is not the first writes only its own failure."""
        if not self.first and state != "failed":
            return
        if state == "failed" and self.world.size > 1 and _failed(self.folder):
            return  # another process failed first, and this one only noticed
        try:
            run_files.write_status(self.folder / "status.json", {
                "state": state, "why": why, "step": self.step, "steps": self.config.train.steps, "time": time.time(),
                "best": self.best if self.best < float("inf") else None, "device": str(self.device),
                "gpu": torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else None,
                "world_size": self.world.size, "pid": os.getpid(), **(identify(os.getpid()) or {})})
        except OSError:
            if state != "failed":  # the failure itself matters more than that it could not be written
                raise

    def _attention_size(self) -> int:
        """Bytes of one snapshot of attention: those of the first."""
        try:
            return (self.folder / "attention" / "0.safetensors").stat().st_size
        except OSError:
            return 1

    def save(self, name: str, *, resumable: bool = True) -> None:
        """Write a checkpoint into the run folder; a resumable one has all that the next step depends on. Raises
        TrainingError for weights or optimizer state that are not finite."""
        tensors = _state_tensors(self.optimizers, self.world) if resumable else {}  # from every process
        if resumable and self.average:
            tensors |= {f"weights.{name}": weights.detach().cpu() for name, weights in self.model.named_parameters()}
        if not all(tensor.isfinite().all() for tensor in (*self.model.state_dict().values(), *tensors.values())):
            raise TrainingError(self._diverged(f"the weights after step {self.step} are not finite"))
        if self.first:
            files = {"metrics.jsonl": (self.folder / "metrics.jsonl").read_bytes()}
            best = self.best if self.best < float("inf") else None
            if resumable:
                values = {name: getattr(self, name) for name in RESUMED} | {"best": best}
                files |= {STATE_TENSORS: to_bytes(tensors), STATE_VALUES: orjson.dumps(values)}
            meta = {"step": self.step, "validation_loss": best,
                    "device": str(self.device), "seconds": self.seconds, **self.task.about}
            checkpoint.save(self.folder / name, self.measured, tokenizer=self.task.tokenizer,
                            source_tokenizer=self.task.source_tokenizer, train=self.config.train, meta=meta,
                            files=files)
        self.world.wait()

    def _resume(self, last: Path) -> None:
        """Restore weights, optimizer and random state, and RESUMED, as they were saved.

        With more processes than before, a new one keeps the random state that it has.
        """
        load_model(self.model, str(last / "model.safetensors"))
        if self.average:
            self.average.model.load_state_dict(self.model.state_dict())
        tensors, world = load_file(str(last / STATE_TENSORS)), self.world
        with torch.no_grad():  # where the weights saved are an average, those that are trained stand beside them
            for name, weights in self.model.named_parameters():
                weights.copy_(tensors.get(f"weights.{name}", weights))
        for i, optimizer in enumerate(self.optimizers):
            state = optimizer.state_dict() | {"state": {}}
            for name, value in tensors.items():
                kind, *where = name.split(".")
                if kind == "optimizer" and int(where[0]) == i:
                    state["state"].setdefault(int(where[1]), {})[where[2]] = value
            optimizer.load_state_dict(state)
        if (own := tensors.get(f"random.cpu.{world.rank}")) is not None:
            torch.set_rng_state(own)
        if world.device.type == "cuda" and (own := tensors.get(f"random.cuda.{world.rank}")) is not None:
            torch.cuda.set_rng_state(own, world.device)
        for name, value in orjson.loads((last / STATE_VALUES).read_bytes()).items():
            setattr(self, name, float("inf") if value is None else value)
        if self.first:
            for name in ("metrics.jsonl", SAMPLES_FILE):
                run_files.truncate(self.folder / name, self.step)
            forget_after(self.folder, self.step)


def _take_over(begun: checkpoint.Checkpoint, model: Transformer) -> None:
    """Give a new model the weights of a checkpoint. Raises ValueError if they mean something else in it."""
    built, ours = begun.config.model_dump(), model.config.model_dump()
    for name in ours:
        if name not in FREE and ours[name] != built[name]:
            raise ValueError(f"start_from: {begun.id} has {name} {built[name]}, and this model {ours[name]}; choose "
                             f"its preset, or set {name} to {built[name]}")
    ours, theirs = ({name: tuple(value.shape) for name, value in one.state_dict().items()}
                    for one in (model, begun.model))
    if ours != theirs:
        name = min(set(ours.items()) ^ set(theirs.items()))[0]
        raise ValueError(f"start_from: {begun.id} has {theirs.get(name, 'nothing')} for {name} where this model has "
                         f"{ours.get(name, 'nothing')}; choose its preset, or set its max_len")
    model.load_state_dict(begun.model.state_dict())


def _teacher(folder: str, task: Prepared, device: torch.device) -> Transformer:
    """A model to learn from. Raises ValueError if it reads or predicts other pieces or classes than the task's."""
    teacher = checkpoint.load(folder, device=device)
    longest = task.config.model.max_len
    if teacher.config.max_len < longest:
        raise ValueError(f"distill: {teacher.id} reads at most {teacher.config.max_len:,} tokens, and this run "
                         f"{longest:,}; set max_len to {teacher.config.max_len} or less")
    same = (teacher.tokenizer and teacher.tokenizer.digest == task.tokenizer.digest
            and teacher.source_tokenizer.digest == task.source_tokenizer.digest
            and teacher.config.task == task.config.model.task
            and teacher.meta.get("classes") == task.about.get("classes"))
    if not same:
        raise ValueError(f"distill: {teacher.id} reads or predicts other pieces or classes than this run; train it on "
                         "the same corpus with the same tokenizer, vocab_size, src_vocab_size and seed")
    return teacher.model


def _state_tensors(optimizers: list[torch.optim.Optimizer], world: World) -> dict[str, Tensor]:
    """Optimizer state, the same in every process, and the random state of each process."""
    tensors = {f"random.cpu.{rank}": one for rank, one in enumerate(world.gather(torch.get_rng_state()))}
    if world.device.type == "cuda":
        own = torch.cuda.get_rng_state(world.device)
        tensors |= {f"random.cuda.{rank}": one for rank, one in enumerate(world.gather(own))}
    for i, optimizer in enumerate(optimizers):
        for parameter, values in optimizer.state_dict()["state"].items():
            for key, value in values.items():
                tensors[f"optimizer.{i}.{parameter}.{key}"] = torch.as_tensor(value).detach().cpu().contiguous()
    return tensors


def _tidy(folder: Path) -> None:
    """Remove what killed trainers left half written, and put back what they had moved aside."""
    for place in (folder, folder / checkpoint.SNAPSHOTS):
        recover(place)
    for pattern in HALF_WRITTEN:
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


def _failed(folder: Path) -> bool:
    return run_files.read_json(folder / "status.json").get("state") == "failed"


def train(out: Path | str, preset: str | None = None, *, resume: bool = False, device: str = "auto",
          minutes: float | None = None, watch: Watch = lambda row: None, **settings: object) -> Path:
    """Train a model, or resume a run that was stopped, and return its folder: `load(folder / "best")` opens the
    weights with the lowest held-out loss, `runs.metrics(folder)` has its curve.

    preset: a name of `transformer.settings.presets`; None: translate. settings: what to change in it, such as
    steps=200 or d_model=64. resume: go on from the last save in `out`, without a preset. minutes: stop after so many;
    an interrupt stops it too, and both save first. watch is called with every row of metrics. Raises ValueError for an
    unknown preset or setting, a folder that holds a run already, and what does not fit into memory.

    >>> run = transformer.train(tmp / "run", "reverse", steps=2, batch_tokens=256, device="cpu")
    >>> len(transformer.runs.metrics(run))
    2
    """
    trainer = make_trainer(Path(out), preset, settings, resume=resume, device=device)
    trainer.run(minutes=minutes, watch=watch)
    return trainer.folder


def make_trainer(out: Path, preset: str | None, settings: dict[str, object], *, resume: bool, device: str) -> Trainer:
    """Make the trainer of a new run, or of one to resume; raises ValueError as `train` does."""
    if resume:
        if not (out / "config.json").exists():
            raise ValueError(f"{out} holds no run to resume; leave resume out to start one")
        if preset is not None:
            raise ValueError("a resumed run goes on with its own preset; leave it out, and name what is to be another")
        config = RunConfig.model_validate_json((out / "config.json").read_bytes())
    else:
        if (out / "metrics.jsonl").exists():
            check_free(out, "training")
            raise ValueError(f"{out} holds a run already; resume it, or choose another folder")
        config = find_preset(preset or "translate")
    config, chosen = config.set(settings), choose_device(device)
    check_least(config, chosen)  # before the corpus is read, which takes a while
    return Trainer(out, config, device=chosen)
