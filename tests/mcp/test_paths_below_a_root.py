"""Nothing outside of the root is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_hookview.errors import HookviewError, NotFoundError, UsageError
from tb_hookview.mcp.server import RootFolder


@pytest.fixture
def root(tmp_path: Path) -> RootFolder:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "root" / "run").mkdir(parents=True)
    (tmp_path / "root" / "run" / "t.json").write_text("{}")
    (tmp_path / "root" / "out").symlink_to(tmp_path)
    (tmp_path / "root" / "in").symlink_to(tmp_path / "root" / "run")
    return RootFolder(str(tmp_path / "root"))


@pytest.mark.parametrize("path", ["run/t.json", "./run/../run/t.json", "in/t.json"])
def test_what_is_below_is_found(root: RootFolder, path: str) -> None:
    assert root.place(path) == root.folder / "run" / "t.json"


@pytest.mark.parametrize("path", ["", "."])
def test_the_root_itself(root: RootFolder, path: str) -> None:
    assert root.place(path) == root.folder


@pytest.mark.parametrize(
    "path",
    [
        *("../secret", "run/../../secret", "out/secret", "/etc/passwd", "~/secret", "~root"),
        *("s3://bucket/run", "file:///etc/passwd", "memory://a", "simplecache::s3://b"),
        *("C:\\windows", "\\\\host\\share", "c:/x", "run/t.json\0", "run\n/t.json", "\u202e"),
    ],
)
def test_everything_else_is_one_line(root: RootFolder, path: str) -> None:
    with pytest.raises(HookviewError) as caught:
        root.place(path)
    assert str(caught.value).isprintable()
    assert str(root.folder) not in str(caught.value)


def test_nothing_there(root: RootFolder) -> None:
    with pytest.raises(NotFoundError, match="run/none"):
        root.place("run/none")


@pytest.mark.parametrize("folder", ["nowhere", "secret", "s3://bucket"])
def test_a_root_that_is_no_folder(tmp_path: Path, folder: str) -> None:
    (tmp_path / "secret").write_text("")
    with pytest.raises(UsageError):
        RootFolder(folder if "://" in folder else str(tmp_path / folder))
