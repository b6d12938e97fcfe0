"""What the environment says of the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tb_hookview.cache import entries, opened
from tb_hookview.errors import UsageError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 4 << 30),
        ("0", 0),
        ("500", 500),
        ("1.5k", 1536),
        ("500M", 500 << 20),
        ("4GiB", 4 << 30),
        (" 2 TB ", 2 << 40),
    ],
)
def test_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv("HOOKVIEW_CACHE_LIMIT", text)
    assert entries.limit() == size
    cache = opened()
    assert cache is not None
    assert (cache.folder, cache.limit) == (folder, size)


@pytest.mark.parametrize("text", ["much", "-1", "4 parsecs", "1e9", "inf", "9" * 400])
def test_a_limit_that_is_no_size_turns_the_cache_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("HOOKVIEW_CACHE_LIMIT", text)
    with pytest.raises(UsageError, match="HOOKVIEW_CACHE_LIMIT="):
        entries.limit()
    assert opened() is None


@pytest.mark.parametrize("text", ["off", "OFF", " off ", "0", "false", "No"])
def test_off(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HOOKVIEW_CACHE", text)
    assert opened() is None


@pytest.mark.parametrize("name", ["off", "0"])
def test_a_folder_called_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOOKVIEW_CACHE", f"./{name}")
    assert not entries.is_off()
    assert entries.folder() == tmp_path / name


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other rules")
def test_the_users_own_cache_folder_where_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOOKVIEW_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert entries.folder() == tmp_path / "tb_hookview"


def test_importing_and_opening_write_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "HOOKVIEW_CACHE": "", "XDG_CACHE_HOME": str(tmp_path / "x")}
    script = "from tb_hookview.cache import opened; assert opened().get('kind', 'a') is None"
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=300)
    assert not (tmp_path / "x").exists()
