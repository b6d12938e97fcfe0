"""What parts share: their arguments, the device, and results that are written as they come."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from sample_traces.scenario import Setting, UnavailableError
from sample_traces.worker import place, setting_for

MOST_BYTES = 2_000_000
"""Of a trace that is kept."""


class Results:
    """Results of a part, in a file that is rewritten with each of them."""

    def __init__(self, name: str, description: str | None) -> None:
        parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
        parser.add_argument("out", type=Path)
        parser.add_argument("--quick", action="store_true")
        parser.add_argument("--only", metavar="MODEL", help="of the part's models")
        options = parser.parse_args()
        self.only: str | None = options.only
        self.name = f"{name}.{self.only}" if self.only else name
        self.out = options.out
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.setting: Setting = setting_for(device, quick=options.quick)
        self.traces = self.out / "traces"
        self._content: dict[str, Any] = {**place(self.setting.device), "quick": self.setting.small}
        self._failed = False
        self._write()

    def measure(self, measurements: Mapping[str, Callable[[], Any]]) -> int:
        """Make measurements one after the other; return 1 where one failed, else 0."""
        for name, measurement in measurements.items():
            try:
                self._content[name] = measurement()
            except UnavailableError as reason:
                self._content[name] = {"skipped": str(reason)}
            except Exception as error:  # noqa: BLE001 - part of the result; the others go on
                self._content[name] = {"error": f"{type(error).__name__}: {error}"}
                self._failed = True
                traceback.print_exc()
            json.dump({name: self._content[name]}, sys.stdout, indent=1)
            print(flush=True)
            self._write()
        return int(self._failed)

    def _write(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self._content, indent=1)
        (self.out / f"{self.name}.json").write_text(f"{text}\n", encoding="utf-8")
