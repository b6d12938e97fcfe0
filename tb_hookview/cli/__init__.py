"""The `hookview` command.

Exit codes: 0 done, 1 a limit of `check` or `dry-run` does not hold, 2 the input or the call is no
good, 130 interrupted.

Must not be here: anything that reads or judges a trace; an import of numpy, rich, flask,
tensorboard or torch at the top of a file, as `hookview --help` has to be instant.
"""

from __future__ import annotations

from importlib import import_module

import click

from tb_hookview.errors import HookviewError
from tb_hookview.formats import printable
from tb_hookview.version import __version__

BAD_INPUT = 2
INTERRUPTED = 130
COMMANDS = (
    *("analyze", "cache", "check", "demo", "diff", "dry-run", "export", "history", "mcp", "ranks"),
    "record",
    *("rules", "run", "serve", "sql", "whatif"),
)
"""Each in the module of its name (`dry_run`), in the order in which help lists them."""


class HookviewGroup(click.Group):
    """Commands that are imported when they are asked for, with errors of one line each."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's to say
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of a name; None where it is unknown."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"{__name__}.{name}"), name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; errors meant for the user become a line and an exit code."""
        try:
            return super().invoke(ctx)
        except HookviewError as error:
            click.echo(f"hookview: {printable(str(error))}", err=True)
            ctx.exit(BAD_INPUT)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(cls=HookviewGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="hookview %(version)s")
def main() -> None:
    """Which module's backward costs what, and where the host waits for the device.

    A PATH is a file or folder of this machine, or its address in a store: s3://bucket/run with the
    extra s3, gs:// with gcs, abfs:// with azure.
    """
