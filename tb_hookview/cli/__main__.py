"""`python -m tb_hookview.cli` is the `hookview` command."""

from tb_hookview.cli import main

main(prog_name="hookview")
