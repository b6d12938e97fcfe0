"""The TensorBoard plugin: mounts the server's application, nothing else.

TensorBoard makes the plugin and asks it for its routes before it serves anything, and asks whether
it is active every few seconds; so nothing here may fail, and nothing heavy is imported on the way.
Where there is a trace, the application is made in a thread of its own meanwhile: the browser takes
longer to show TensorBoard than the imports do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin

from tb_hookview.addresses.text import is_address, place

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment
    from flask import Flask

ACTIVE_FOR_S = 5.0
"""How long an answer to "is there a trace?" is taken to hold, in seconds."""

SCRIPT = "/index.js"


class HookviewPlugin(base_plugin.TBPlugin):  # type: ignore[misc]  # tensorboard has no types
    """HOOKVIEW's tab."""

    plugin_name = "hookview"

    def __init__(
        self, context: base_plugin.TBContext, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._logdir: str | Path | None = place(context.logdir) if context.logdir else None
        self._clock = clock
        self._active = False
        self._asked_at: float | None = None
        self._looking: Thread | None = None
        self._lock = Lock()
        self._making = Lock()

    def get_plugin_apps(self) -> dict[str, WSGIApplication]:
        """Return the routes: the script that TensorBoard looks for by name, and all the rest."""
        Thread(target=self.is_active, name="hookview-look", daemon=True).start()
        return {SCRIPT: self._serve, "/*": self._serve}

    def is_active(self) -> bool:
        """Return whether the log directory holds a trace."""
        with self._lock:
            now = self._clock()
            if self._asked_at is None or now - self._asked_at >= ACTIVE_FOR_S:
                self._asked_at = now
                self._look()
            return self._active

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """Return the name of the tab and its script."""
        return base_plugin.FrontendMetadata(
            es_module_path=SCRIPT, tab_name="HOOKVIEW", disable_reload=True
        )

    @cached_property
    def _app(self) -> Flask:
        from tb_hookview.server import create_app

        return create_app(self._logdir)

    def _made(self) -> Flask:
        """Return the application, made once whoever asks first."""
        with self._making:
            return self._app

    def _serve(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # TensorBoard leaves the plugin's prefix in the path; the application knows that it is
        # mounted there instead, which also holds under --path_prefix.
        prefix = f"/data/plugin/{self.plugin_name}"
        mounted: dict[str, Any] = {
            **environ,
            "SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + prefix,
            "PATH_INFO": environ["PATH_INFO"].removeprefix(prefix),
        }
        return self._made()(mounted, start_response)

    def _look(self) -> None:
        """Look for a trace; at an address in a thread, for TensorBoard waits for the answer."""
        if self._logdir is None:
            return
        if not is_address(self._logdir):
            self._found(self._has_trace(self._logdir))
        elif self._looking is None or not self._looking.is_alive():
            self._looking = Thread(target=self._look_afar, args=[self._logdir], daemon=True)
            self._looking.start()

    def _look_afar(self, logdir: str | Path) -> None:
        self._found(self._has_trace(logdir))

    def _found(self, active: bool) -> None:
        """Where there is a trace for the first time, somebody may open our tab next."""
        before, self._active = self._active, active
        if active and not before:
            Thread(target=self._made, name="hookview-start", daemon=True).start()

    @staticmethod
    def _has_trace(logdir: str | Path) -> bool:
        from tb_hookview.trace.source.runs import has_trace

        return has_trace(logdir)
