"""Too little memory on a CPU: said with what to change, and what was saved before is whole."""

import subprocess
import sys
from pathlib import Path

import pytest

from transformer.checkpoints import checkpoint
from transformer.jobs.launch import progress

pytestmark = pytest.mark.faults
ROOT = Path(__file__).resolve().parents[2]

# folder corpus megabytes: train, with so much more memory than the process has by then; 0: without a limit
TRAIN = """
import resource, sys
from pathlib import Path
import torch
from transformer.settings.presets import preset
from transformer.training.trainer import Trainer, TrainingError
folder, corpus, more = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
config = preset("sentiment").set({"corpus": corpus, "steps": 4 if not more else 12, "save_every": 4, "eval_every": 100,
                                  "d_model": 256, "d_ff": 2048, "encoder_layers": 4, "batch_tokens": 2000})
run = Trainer(folder, config, device=torch.device("cpu"))
if more:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more * 1_000_000,) * 2)
try:
    print(run.run())
except TrainingError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_run_that_gets_no_more_memory_says_what_to_change(tmp_path):
    corpus = tmp_path / "sentences.csv"
    corpus.write_text("text,label\n" + "".join(f"{'this was awesome ' * 15}{n},a\n{'i hated it ' * 20}{n},b\n"
                                               for n in range(100)))

    def train(more):
        done = subprocess.run([sys.executable, "-c", TRAIN, str(tmp_path / "run"), str(corpus), str(more)], cwd=ROOT,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

    assert train(0) == "finished"
    message = train(30)
    print(f"\n{message}")
    assert message.startswith("cpu ran out of memory at step 5; resume with a lower micro_tokens")
    assert (progress(tmp_path / "run").state, progress(tmp_path / "run").why) == ("failed", message)
    assert checkpoint.load(tmp_path / "run" / "last").description.step == 4
    assert train(8_000) == "finished"
