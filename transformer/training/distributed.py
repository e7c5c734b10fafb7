"""Processes that train one model together: the rank of this one, its share of a batch, and sums over all.

Every process reads the same batches and takes its rows of each, so a step learns from the same text however many
processes there are (loss = global sum / global tokens).
"""

import ctypes
import datetime
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from transformer.evaluation.quality import IGNORED
from transformer.jobs.process import boot_id, identify, running
from transformer.text.batches import Batch

LEAVING = 2.0  # seconds that a process which was killed may still be listed


@dataclass(frozen=True)
class World:
    """The processes of a run; `rank` counts them from 0, and only rank 0 writes into the run folder."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=partial(torch.device, "cpu"))
    peers: tuple[dict[str, object], ...] = ()  # every process by rank, as `identify` tells it from all others

    @property
    def beside(self) -> int:
        """How many processes share the memory of this one's device; each GPU has its own."""
        return 1 if self.device.type == "cuda" else int(os.environ.get("LOCAL_WORLD_SIZE", self.size))

    def share(self, batch: Batch, pad_id: int | None) -> Batch:
        """This process's rows of a batch, with the token count of the whole batch. A process without a row gets one in
        which nothing counts, because all processes take part in each step."""
        if self.size == 1:
            return batch
        if self.rank < len(batch.labels):
            return batch.each(lambda x: x[self.rank::self.size])
        first, nothing = batch.each(lambda x: x[:1]), IGNORED if batch.tgt is None or pad_id is None else pad_id
        return first._replace(labels=torch.full_like(first.labels, nothing))

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module with its gradients averaged over all processes as they are computed (Li et al. 2020)."""
        return module if self.size == 1 else DistributedDataParallel(module)

    def sum(self, *values: float) -> list[float]:
        """Each value summed over all processes; the same sums in all of them."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float32 if self.device.type == "mps" else torch.float64,
                             device=self.device)
        distributed.all_reduce(total)
        return total.tolist()

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """Every process's tensor of the same shape, by rank; on the CPU."""
        if self.size == 1:
            return [tensor]
        mine = tensor.to(self.device)
        gathered = [torch.empty_like(mine) for _ in range(self.size)]
        distributed.all_gather(gathered, mine)
        return [one.cpu() for one in gathered]

    def wait(self) -> None:
        """Wait until all processes have come here."""
        if self.size > 1:
            distributed.barrier()

    def lost(self) -> list[int]:
        """The ranks of this machine's processes that have ended, after an exchange with them has failed."""
        here = {rank: one for rank, one in enumerate(self.peers) if one.get("boot_id") == boot_id()}
        until = time.monotonic() + LEAVING
        while True:
            lost = [rank for rank, one in here.items() if running(one) is None]
            if lost or not here or time.monotonic() > until:
                return lost
            time.sleep(0.05)

    def leave(self) -> None:
        if self.size > 1 and distributed.is_initialized():
            distributed.destroy_process_group()


def join(device: torch.device) -> World:
    """Join this process's world: alone, or one of those that torchrun started (by `WORLD_SIZE` and its like).

    On CUDA each process takes the GPU of its local rank and they communicate by NCCL, otherwise by gloo. Raises
    ValueError if there are fewer GPUs than processes.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return World(device=device)
    if not distributed.is_initialized():  # Ray Train, which makes the group itself, also ends its processes
        _end_with_parent()
    if device.type == "cuda":
        local, gpus = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
        if local >= gpus:
            raise ValueError(f"process {local + 1} of this machine finds {gpus} GPUs; start at most {gpus} processes")
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo",
                                       timeout=datetime.timedelta(minutes=10))
    peers: list[dict[str, object]] = [{}] * distributed.get_world_size()
    distributed.all_gather_object(peers, identify(os.getpid()) or {})
    return World(distributed.get_rank(), len(peers), device, tuple(peers))


def _end_with_parent() -> None:
    """Receive SIGTERM, which saves and ends the run, when the launcher is killed and cannot send it (Linux)."""
    if sys.platform != "linux":
        return
    launcher = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    if os.getppid() != launcher:  # it died just before
        os.kill(os.getpid(), signal.SIGTERM)
