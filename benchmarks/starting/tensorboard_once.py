"""TensorBoard with its own plugins: `... with|without|beside LOGDIR`.

Ours is there too, or not, or beside torch-tb-profiler's.

Prints its address and serves until standard input ends.
"""

from __future__ import annotations

import sys
from importlib import metadata

from tensorboard import default, program

_WANTED = {
    "with": {"hookview"},
    "without": set(),
    "beside": {"hookview", "torch_profiler"},
}
_OPTIONS = ("--port", "0", "--host", "127.0.0.1", "--load_fast", "false")


def main() -> None:
    """Start as TensorBoard's own command does, but for the plugins of others."""
    which, logdir = sys.argv[1:]
    installed = metadata.entry_points(group="tensorboard_plugins")
    wanted = _WANTED[which]
    plugins = default.get_static_plugins()
    plugins += [entry.load() for entry in installed if entry.name in wanted]
    server = program.TensorBoard(plugins=plugins)
    server.configure(argv=["", "--logdir", logdir, *_OPTIONS])
    print(server.launch(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
