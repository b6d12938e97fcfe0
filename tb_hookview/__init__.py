"""tb_hookview: which module's backward costs what, and where the host waits for the device.

    import tb_hookview as hookview

    model = hookview.wrap(model)
    with hookview.profile("runs/vit", schedule=...) as prof:
        ...
    report = hookview.analyze("runs/vit")
    hookview.show(report)  # the page, in a notebook

Names are loaded on first use, so that training never imports the analyzer and looking at a trace
never imports torch.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tb_hookview.errors import HookviewError, NotFoundError, TraceError, UsageError
from tb_hookview.version import __version__ as __version__

if TYPE_CHECKING:
    from tb_hookview.dryrun import dry_run, no_syncs
    from tb_hookview.loading import analyze
    from tb_hookview.notebook import show
    from tb_hookview.ranks.result import RunReport
    from tb_hookview.ranks.run import analyze_run
    from tb_hookview.recorder import profile, unwrap, wrap
    from tb_hookview.report.result import Report
    from tb_hookview.watching.watch import watch

__all__ = [
    "HookviewError",
    "NotFoundError",
    "Report",
    "RunReport",
    "TraceError",
    "UsageError",
    "analyze",
    "analyze_run",
    "dry_run",
    "no_syncs",
    "profile",
    "show",
    "unwrap",
    "watch",
    "wrap",
]

_HOMES = {
    "Report": "tb_hookview.report.result",
    "RunReport": "tb_hookview.ranks.result",
    "analyze": "tb_hookview.loading",
    "analyze_run": "tb_hookview.ranks.run",
    "dry_run": "tb_hookview.dryrun",
    "no_syncs": "tb_hookview.dryrun",
    "profile": "tb_hookview.recorder",
    "show": "tb_hookview.notebook",
    "unwrap": "tb_hookview.recorder",
    "watch": "tb_hookview.watching.watch",
    "wrap": "tb_hookview.recorder",
}
_WITH_TORCH = {"dry_run", "no_syncs", "profile", "unwrap", "watch", "wrap"}


def __dir__() -> list[str]:
    names = {*globals(), *__all__}
    # For help() and completion, which then ask for each of these names.
    return sorted(names if find_spec("torch") else names - _WITH_TORCH)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
