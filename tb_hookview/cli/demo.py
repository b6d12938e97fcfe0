"""Records a small training run and opens it: `hookview demo`."""

from __future__ import annotations

import shutil
import socket
import threading
from contextlib import suppress
from pathlib import Path

import click

from tb_hookview.errors import UsageError


@click.command(short_help="Record a small run and open it.")
@click.option(
    "--logdir",
    default="runs/demo",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to record into.",
)
@click.option("--no-serve", is_flag=True, help="Record and summarize only.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="TensorBoard's port; 0 for any free one.  [default: the first free one from 6006]",
)
def demo(logdir: Path, no_serve: bool, port: int | None) -> None:
    """Record a small training run, summarize it, open it in TensorBoard."""
    if port and not no_serve:
        _require_free(port)
    trace = _record(logdir)
    from tb_hookview.cli.analyze import read
    from tb_hookview.cli.terminal import show

    show(read(str(trace)).brief(f"hookview analyze {logdir} --verbose shows all"))
    if not no_serve:
        _serve(logdir, port)


def _require_free(port: int) -> None:
    # Checked before the training, not after it.
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            reason = f"port {port} cannot be used ({error.strerror})"
            raise UsageError(f"{reason}; choose another with --port, or leave it out") from error


def _record(logdir: Path) -> Path:
    try:
        from tb_hookview.recorder.demo import record_demo
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tb_hookview":
            raise
        raise UsageError(
            f"the demo records with PyTorch, and {error.name} is not installed; "
            'install it with: pip install "tb-hookview[record]"'
        ) from error
    return record_demo(logdir, say=click.echo)


def _serve(logdir: Path, port: int | None) -> None:
    served = logdir.resolve().parent
    _add_samples(served)
    from tensorboard import default, program

    # torch-tb-profiler, where it is installed, reads all runs at once: nothing else is answered for
    # a minute meanwhile.
    plugins = default.get_plugins()
    other = [each for each in plugins if not each.__module__.startswith("torch_tb_profiler.")]
    server = program.TensorBoard(other)
    options = ["--logdir", str(served), "--host", "127.0.0.1", "--load_fast", "false"]
    if port is not None:
        options += ["--port", str(port)]
    server.configure(["hookview", *options])
    try:
        url = server.launch()
    except program.TensorBoardServerException as error:
        raise UsageError(f"TensorBoard cannot be started: {error.msg}") from error
    click.echo(f"TensorBoard is at {url}#hookview (stop with Ctrl+C)")
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def _add_samples(served: Path) -> None:
    # TensorBoard serves one folder and follows no links out of it.
    samples = Path(__file__).resolve().parents[2] / "sample_traces"
    if served in (samples, *samples.parents):
        return
    for trace in samples.glob("[cg]pu/*/*.pt.trace.json.gz"):
        target = served / samples.name / trace.relative_to(samples)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(trace, target)
