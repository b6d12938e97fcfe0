"""`hookview run`: real scripts, run plainly and recorded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.command import Done, call

import tb_hookview

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]
FORKED_SCRIPTS = ROOT / "tests" / "support" / "forked_scripts.py"
RECORDED = ["-m", "tb_hookview.cli", "run", "--wait", "2"]


class Folder:
    """A folder with scripts in it, and what running one of them says."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(exist_ok=True)
        (self.path / name).write_text(text)

    def python(self, *arguments: str | Path, given: str = "", **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            input=given,
            capture_output=True,
            text=True,
            timeout=300,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def forked(self, *cases: list[str]) -> list[Done]:
        """Run Python with each of some arguments; torch is imported once, before all of them."""
        done = self.python(FORKED_SCRIPTS, given=json.dumps(cases))
        assert done.returncode == 0, done.stderr
        return [Done(*case) for case in json.loads(done.stdout)]

    def traces(self, name: str) -> list[Path]:
        return sorted((self.path / "runs" / name).glob("*.pt.trace.json.gz"))


def said(done: Done) -> list[str]:
    """The lines of ours, without the figures that differ from run to run."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("hookview: ")]
    plain = [re.sub(r" \(\d+ [kM]B, [\d.]+ s\)$", "", line[10:]) for line in lines]
    return [re.sub(r"[^/ ]+\.pt\.trace", "*.pt.trace", line) for line in plain]


def others(done: Done) -> list[str]:
    """What the script itself leaves on standard error."""
    ours = ("hookview: ", "USDT:")  # the second is torch's own, wherever it profiles
    return [line for line in done.stderr.splitlines() if not line.startswith(ours)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return Folder(tmp_path_factory.mktemp("scripts"))


TRAIN = """
import os, sys
os.environ["OMP_NUM_THREADS"] = "1"
if __name__ == "__main__":
    print("torch" in sys.modules)
import hashlib, pickle, torch
from torch import multiprocessing, nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True), nn.Dropout(0.5))
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.body(x))


def train_alone(queue):
    # In a process of its own, started by fork, with all of ours, or by spawn, with nothing of it.
    if __name__ == "__main__":
        net = Net()
        optimizer = torch.optim.AdamW(net.parameters())
        for _ in range(8):
            net(torch.ones(1, 8)).sum().backward()
            optimizer.step()
    queue.put(__name__)


if __name__ == "__main__":
    print(sys.argv, __file__, __spec__, __package__, sys.path[0], torch.get_num_threads())
    print(pickle.loads(pickle.dumps(Net)) is Net)
    torch.manual_seed(0)
    net, loss_fn, softmax = Net(), nn.CrossEntropyLoss(), nn.Softmax(-1)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    data = TensorDataset(softmax(torch.randn(40, 8)), torch.randint(3, (40,)))
    for x, y in DataLoader(data, batch_size=4, num_workers=1, multiprocessing_context="fork"):
        optimizer.zero_grad()
        loss_fn(net(softmax(x)), y).backward()
        optimizer.step()
        scheduler.step()
        child = os.fork()
        if child == 0:  # a process that has all of ours, and trains on
            optimizer.step()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        process = context.Process(target=train_alone, args=(queue,))
        process.start()
        process.join()
        print(method, process.exitcode, queue.get())
    weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
    print(hashlib.sha256(weights).hexdigest())
    modules = [net, *net.modules(), loss_fn, softmax]
    print(any(m._forward_pre_hooks or m._forward_hooks for m in modules))
    sys.exit(5)
"""


@pytest.fixture(scope="module")
def trained(folder: Folder) -> tuple[Done, Done]:
    """One training, plain and recorded."""
    folder.write("train.py", TRAIN)
    arguments = ["train.py", "--lr", "-m", "--", "x"]
    return folder.python(*arguments), folder.python(*RECORDED, "--active", "2", *arguments)


@pytest.mark.slow
def test_the_training_is_the_same_bit_for_bit(trained: tuple[Done, Done]) -> None:
    plain, recorded = trained
    assert plain.stdout.splitlines()[0] == "False"
    assert len(plain.stdout.splitlines()[-2]) == 64
    assert recorded.stdout == plain.stdout
    assert (recorded.returncode, others(recorded)) == (plain.returncode, others(plain)) == (5, [])


@pytest.mark.slow
def test_the_model_and_the_loss_are_in_the_trace(
    trained: tuple[Done, Done], folder: Folder
) -> None:
    (trace,) = folder.traces("train")
    report = tb_hookview.analyze(trace).data
    assert [step.name for step in report.steps] == ["ProfilerStep#3", "ProfilerStep#4"]
    calls = {module.path: module.calls for module in report.modules}
    paths = ["", "body", "body.0", "body.1", "body.2", "head", "CrossEntropyLoss"]
    assert {path: calls.get(path) for path in paths} == dict.fromkeys(paths, 2)
    assert "Softmax" not in calls
    assert all(step.optimizer_us > 0 for step in report.steps)


@pytest.mark.slow
def test_it_says_what_it_does(trained: tuple[Done, Done]) -> None:
    assert said(trained[1]) == [
        "wrapped Net (195 parameters)",
        "recording steps 4 to 5 of AdamW",
        "wrapped CrossEntropyLoss",
        "wrote runs/train/*.pt.trace.json.gz",
        "look at it with: hookview analyze runs/train (or: hookview serve runs/train)",
    ]


FAILS = """
import sys, torch
print(sys.argv[1:], __name__, __spec__.name, __package__, sys.path[0])
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    net(torch.ones(1, 4)).sum().backward()
    optimizer.step()
raise EOFError("in the middle of a step")
"""


@pytest.fixture(scope="module")
def failed(folder: Folder) -> Done:
    folder.write("package/__init__.py", "")
    folder.write("package/__main__.py", FAILS)
    options = ["--logdir", "runs/fails", "--depth", "0"]
    return folder.python(*RECORDED, *options, "-m", "package", "--wait", "3")


def test_what_a_failing_module_recorded_is_written(folder: Folder, failed: Done) -> None:
    assert failed.returncode == 1
    (trace,) = folder.traces("fails")
    assert tb_hookview.analyze(trace).data.steps[-1].name == "ProfilerStep#4"
    assert said(failed)[1] == "recording steps 4 to 6 of SGD"


@pytest.mark.slow
def test_a_failing_module_says_what_it_says_without_us(folder: Folder, failed: Done) -> None:
    plain = folder.python("-m", "package", "--wait", "3")
    assert (failed.returncode, failed.stdout) == (plain.returncode, plain.stdout)
    frames = [line for line in plain.stderr.splitlines() if "runpy" not in line]
    assert [line.strip() for line in others(failed)] == [line.strip() for line in frames]


OWN_PROFILER = """
import torch
from torch.profiler import profile
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        net(torch.ones(1, 4)).sum().backward()
        optimizer.step()
with torch.autograd.profiler.profile(enabled=False):
    train(4)
with profile() as profiler:
    train(8)
print(sum(event.key.startswith("Optimizer.step") for event in profiler.key_averages()))
"""


@pytest.mark.slow
def test_a_script_that_profiles_itself_is_given_way(
    folder: Folder, forked: dict[str, Done]
) -> None:
    done = forked["own.py"]
    assert (done.returncode, done.stdout, others(done)) == (0, "1\n", [])
    assert said(done)[-3].startswith("wrote ")
    assert said(done)[-2].startswith("the script uses torch's profiler itself")
    assert len(folder.traces("own")) == 1


COMPILED = """
import sys, torch
from torch import nn
from torch._dynamo.testing import CompileCounter

counter = CompileCounter()
net = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), backend=counter)
inner, loss = nn.Linear(4, 1), nn.MSELoss()
function = torch.compile(lambda x, y: loss(inner(x), y), backend=counter)
optimizer = torch.optim.SGD([*net.parameters(), *inner.parameters()], lr=0.1)
step = torch.compile(lambda: optimizer.step(), backend=counter)
frames = []
for _ in range(8):
    optimizer.zero_grad()
    function(net(torch.ones(2, 4)), torch.ones(2, 1)).backward()
    step()
    frames.append(counter.frame_count)
print(frames)
"""


@pytest.fixture(scope="module")
def forked(folder: Folder) -> dict[str, Done]:
    """What scripts left that were recorded, by name; and one that was not."""
    scripts = {"own.py": OWN_PROFILER, "compiled.py": COMPILED, "stepless.py": STEPLESS}
    for name, text in scripts.items():
        folder.write(name, text)
    cases = {"plain": ["compiled.py"], **{name: [*RECORDED, name] for name in scripts}}
    return dict(zip(cases, folder.forked(*cases.values()), strict=True))


@pytest.mark.slow
def test_what_is_compiled_is_not_compiled_again(folder: Folder, forked: dict[str, Done]) -> None:
    plain, done = forked["plain"], forked["compiled.py"]
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    *theirs, warned, _its_line = others(done)
    assert len(theirs) == len(plain.stderr.splitlines())  # some say when they were said
    assert "the model wrapped as 'Linear' is compiled into the code that calls it" in warned
    (trace,) = folder.traces("compiled")
    modules = tb_hookview.analyze(trace).data.modules
    assert "Sequential" in {module.module_class for module in modules}
    assert [line for line in said(done) if line.startswith("wrapped ")] == [
        "wrapped Sequential (20 parameters)",
        "wrapped Linear (5 parameters)",
    ]


STEPLESS = "import sys, torch\nsys.exit('bye')"


@pytest.mark.slow
def test_a_script_without_a_step_is_told_in_one_line(
    folder: Folder, forked: dict[str, Done]
) -> None:
    check_nothing(folder, "stepless", forked["stepless.py"], "took a step in the main thread")
    assert forked["stepless.py"].returncode == 1


def test_a_script_without_torch_is_told_in_one_line(folder: Folder) -> None:
    folder.write("idle.py", "print('hello')")
    done = folder.python(*RECORDED, "idle.py")
    check_nothing(folder, "idle", done, "the script did not import torch")
    assert (done.returncode, done.stdout) == (0, "hello\n")


def check_nothing(folder: Folder, name: str, done: Done, why: str) -> None:
    (*_, last) = said(done)
    assert last.startswith("nothing was recorded: ")
    assert why in last
    assert folder.traces(name) == []


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    raise EOFError('no')\nf()",
        "x = = 1",
        "import tb_hookview\nraise tb_hookview.UsageError('of the script')",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('two') from e",
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0])\nraise OSError(32, 'pipe')",
        "import sys, atexit\natexit.register(lambda: print(sys.modules['__main__'].x))\nx = 1",
    ],
    ids=["error", "syntax", "ours", "chain", "hook", "exit handler"],
)
def test_errors_are_those_of_the_plain_script(folder: Folder, text: str) -> None:
    folder.write("error.py", text)
    plain, done = folder.python("error.py"), folder.python(*RECORDED, "error.py")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert others(done) == plain.stderr.splitlines()


def test_an_interrupt_is_130(folder: Folder) -> None:
    folder.write("interrupted.py", "raise KeyboardInterrupt")
    done = folder.python(*RECORDED, "interrupted.py")
    assert done.returncode == 130
    assert others(done)[-1] == "KeyboardInterrupt"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--ranks", "0,x", "missing.py"], "whole numbers"),
        (["--wait", "0", "missing.py"], "--wait"),
        ([], "SCRIPT"),
    ],
)
def test_a_call_that_cannot_be_meant_is_exit_2(arguments: list[str], says: str) -> None:
    done = call("run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr.splitlines()[-1]


NOT_THERE = {
    "missing.py": "missing.py: No such file",
    ".": "Is a directory",
    "-m missing.module": "missing.module: no such module",
}
EACH = """
import os, sys
from tb_hookview.cli import main

codes = []
for call in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        main(["run", *call.split()])
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(codes)
"""


def test_what_is_not_there_is_one_line_and_exit_2(folder: Folder) -> None:
    done = folder.python("-c", EACH, *NOT_THERE)
    assert done.stdout == "[2, 2, 2]\n"
    for line, says in zip(done.stderr.splitlines(), NOT_THERE.values(), strict=True):
        assert line.startswith("hookview: ")
        assert says in line


def test_without_torch_it_is_one_line(folder: Folder) -> None:
    program = (
        "import sys; sys.modules['torch'] = None; from tb_hookview.cli import main;"
        "main(['run', 'missing.py'])"
    )
    done = folder.python("-c", program)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "torch is not installed" in done.stderr


DISTRIBUTED = """
import gc, hashlib, torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
net = DistributedDataParallel(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)))
optimizer, loss_fn = torch.optim.SGD(net.parameters(), lr=0.1), nn.MSELoss()
for _ in range(6):
    optimizer.zero_grad()
    loss_fn(net(torch.randn(2, 4)), torch.ones(2, 1)).backward()
    optimizer.step()
weights = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
# In one piece: torchrun has Python unbuffered, and both processes write to one pipe.
print(hashlib.sha256(weights).hexdigest() + "\\n", end="", flush=True)
del net, optimizer
gc.collect()  # gloo's threads now and then abort a busy process in which DDP outlives its group
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_torchrun_records_the_chosen_ranks(folder: Folder) -> None:
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")
    folder.write("ddp.py", DISTRIBUTED)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, "--no-python", sys.executable, *RECORDED, "--wait", "1", "--ranks", "1"]
    loopback = "lo0" if sys.platform == "darwin" else "lo"
    done = folder.python(*command, "ddp.py", OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME=loopback)
    assert done.returncode == 0, done.stderr
    assert list(Counter(done.stdout.split()).values()) == [2]
    (trace,) = folder.traces("ddp")
    assert trace.name.startswith("rank1_")
    report = tb_hookview.analyze(trace).data
    assert (report.trace.rank, report.trace.world_size) == (1, 2)
    assert {"", "0", "1", "MSELoss"} <= {module.path for module in report.modules}
    assert said(done)[0] == "rank 1: wrapped Sequential (25 parameters)"
    assert all(line.startswith("rank 1: ") for line in said(done))
