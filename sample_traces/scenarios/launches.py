"""Many tiny modules, each launched by the host, against compiled and against a CUDA graph."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, UnavailableError, Variant


class TinyBlock(nn.Module):
    """Five modules with almost no work in any of them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width)
        self.act = nn.GELU()
        self.gate = nn.Sigmoid()
        self.down = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Keep the shape (batch, width)."""
        hidden = self.up(self.norm(x))
        result: torch.Tensor = x + self.down(self.act(hidden) * self.gate(hidden))
        return result


def _model(setting: Setting) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    width, depth = 64, setting.pick(24, 3)
    model = nn.Sequential(*(TinyBlock(width) for _ in range(depth)), nn.Linear(width, 16))
    inputs, labels = models.vectors(setting, 32, width, 16)
    return model.to(setting.device), inputs, labels


def _eager(setting: Setting) -> Training:
    model, inputs, labels = _model(setting)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return Training(models.training_step(model, optimizer, lambda: (inputs, labels)), model)


def _compiled(setting: Setting) -> Training:
    model, inputs, labels = _model(setting)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    model.compile(dynamic=False)
    return Training(models.training_step(model, optimizer, lambda: (inputs, labels)), model)


def _graphed(setting: Setting) -> Training:
    """Capture the whole step once, then replay it."""
    if not setting.cuda:
        raise UnavailableError("CUDA graphs need a GPU")
    model, inputs, labels = _model(setting)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def whole() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    # Lazily made state (handles, workspaces) must exist before the capture, made on its stream.
    # These steps and the captured one count as training: they are undone.
    start = [parameter.detach().clone() for parameter in model.parameters()]
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            whole()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = whole()
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), start, strict=True):
            parameter.copy_(value)

    def step(_read_by_the_graph: object = (inputs, labels)) -> torch.Tensor:
        graph.replay()
        return loss.clone()

    return Training(step, model)


LAUNCH_BOUND = Scenario(
    "launch_bound",
    "many tiny modules launched one by one, against torch.compile and a CUDA graph",
    (
        Variant(
            "eager",
            _eager,
            (Expected(("tiny-kernels-launch-bound", "launch-queue-shallow")),),
        ),
        # Backward and optimizer are still launched one by one.
        Variant("compiled", _compiled, partly=True),
        Variant("cuda_graph", _graphed),
    ),
    seconds=80,
    tolerance=1e-3,
)
