"""The `hookview` command.

Exit codes: 0 done, 1 a limit of `check` does not hold, 2 the input or the call is no good, 130
interrupted.
"""

from __future__ import annotations

import click

from tb_hookview import HookviewError, __version__
from tb_hookview.cli.analyze import analyze
from tb_hookview.cli.cache import cache
from tb_hookview.cli.check import check
from tb_hookview.cli.demo import demo
from tb_hookview.cli.diff import diff
from tb_hookview.cli.export import export
from tb_hookview.cli.rules import rules
from tb_hookview.cli.run import run
from tb_hookview.cli.serve import serve
from tb_hookview.cli.text import printable

BAD_INPUT = 2
INTERRUPTED = 130


class HookviewGroup(click.Group):
    """Commands whose errors are one line on standard error."""

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
    """Which module's backward costs what, and where the host waits for the device."""


for _command in (analyze, diff, check, export, serve, run, rules, cache, demo):
    main.add_command(_command)
