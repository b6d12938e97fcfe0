"""The peers' own Python environment."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = _ROOT / ".bench-venv"
_REQUIREMENTS = _ROOT / "benchmarks" / "requirements.txt"


def peers_python() -> Path:
    """The interpreter of the peers' environment, made on first use and when the pins change.

    Where they cannot be installed this is said, and what is run with it fails.
    """
    python = _FOLDER / "bin" / "python"
    stamp = _FOLDER / "installed.txt"
    wanted = _REQUIREMENTS.read_text(encoding="utf-8")
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"Installing the peers into {_FOLDER.name} (minutes, once)", file=sys.stderr)
    venv.create(_FOLDER, with_pip=True, clear=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "-r", str(_REQUIREMENTS)], check=False).returncode:
        print(
            "The peers of benchmarks/requirements.txt could not be installed (see above); install "
            "them elsewhere and name that Python with --peers-python",
            file=sys.stderr,
        )
    else:
        stamp.write_text(wanted, encoding="utf-8")
    return python
