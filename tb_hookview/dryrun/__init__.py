"""Finds where a training step would wait for a GPU, on a machine without one."""

from __future__ import annotations

from tb_hookview.dryrun.run import DryRun, SyncsFoundError, dry_run, no_syncs

__all__ = ["DryRun", "SyncsFoundError", "dry_run", "no_syncs"]
