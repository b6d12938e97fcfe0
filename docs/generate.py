"""Write what the documentation says of the types of answers: `make schema`."""

from __future__ import annotations

from pathlib import Path

from tb_hookview.server import openapi

DOCS = Path(__file__).resolve().parent


def main() -> None:
    """Write docs/openapi.json."""
    (DOCS / "openapi.json").write_bytes(openapi.write())


if __name__ == "__main__":
    main()
