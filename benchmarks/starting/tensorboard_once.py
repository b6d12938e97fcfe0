"""TensorBoard with its own plugins, and with ours or without: `... with|without LOGDIR`.

Prints its address and serves until standard input ends.
"""

from __future__ import annotations

import sys
from importlib import metadata

from tensorboard import default, program


def main() -> None:
    """Start as TensorBoard's own command does, but for the plugins of others."""
    which, logdir = sys.argv[1:]
    installed = metadata.entry_points(group="tensorboard_plugins")
    ours = [entry for entry in installed if entry.name == "hookview" and which == "with"]
    plugins = default.get_static_plugins() + [entry.load() for entry in ours]
    server = program.TensorBoard(plugins=plugins)
    server.configure(argv=["", "--logdir", logdir, "--port", "0", "--load_fast", "false"])
    print(server.launch(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
