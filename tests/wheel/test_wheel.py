"""What a user gets: the wheel, in an environment without torch.

It is built once: from a clean checkout the source archive, with npm; from that the wheel, without.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest
from support.host_trace import write_host_trace
from support.tensorboard_process import TensorBoard, running

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
NOT_CHECKED_OUT = shutil.ignore_patterns(
    ".*", "node_modules", "static", "build", "dist", "runs", "*.egg-info", "__pycache__"
)
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def run(*command: str | Path, cwd: Path | None = None, **variables: str) -> str:
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **variables},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout as a fresh clone has it: nothing built, nothing installed."""
    copy = tmp_path_factory.mktemp("clone") / "tb_hookview"
    shutil.copytree(CHECKOUT, copy, ignore=NOT_CHECKED_OUT)
    return copy


@pytest.fixture(scope="module")
def archive(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("needs npm, to build the page: install Node 20.19 or newer")
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "-o", folder, checkout)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def unpacked(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is in the source archive."""
    folder = tmp_path_factory.mktemp("unpacked")
    shutil.unpack_archive(archive, folder)
    (root,) = folder.iterdir()
    return root


@pytest.fixture(scope="module")
def wheel(archive: Path, unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as pip builds it from the source archive, with what that asks for and no npm."""
    nothing, folder = tmp_path_factory.mktemp("nothing"), archive.parent
    run(sys.executable, "-m", "build", "--wheel", "-o", folder, unpacked, PATH=str(nothing))
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a clean environment that the wheel is installed in."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder)
    interpreter = folder / "bin" / "python"
    run(*PIP, "--python", interpreter, "install", "--no-compile", wheel)
    return interpreter


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "vit").mkdir()
    write_host_trace(folder / "vit" / "host.1700000000123.pt.trace.json")
    return folder


@pytest.fixture(scope="module")
def tensorboard(python: Path, logdir: Path) -> Iterator[TensorBoard]:
    with running(python, "--logdir", str(logdir)) as started:
        yield started


def test_the_wheel_carries_the_page_and_only_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = Parser().parsestr(
            archive.read(next(n for n in names if n.endswith("/METADATA"))).decode()
        )
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tb_hookview"}
    for expected in ("static/index.html", "static/index.js", "py.typed", "plugin.py"):
        assert f"tb_hookview/{expected}" in names
    assert any(name.startswith("tb_hookview/static/assets/") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert metadata["Name"] == "tb-hookview"
    assert metadata["License-Expression"] == "Apache-2.0"
    always = _always(metadata.get_all("Requires-Dist"))
    assert not any(needs.startswith(("torch>", "torch-tb-profiler")) for needs in always)
    assert "tb-profiler" in (metadata.get_all("Provides-Extra") or [])


def _always(requirements: list[str] | None) -> list[str]:
    return [needs for needs in requirements or [] if "extra ==" not in needs]


def test_torch_is_not_there(python: Path) -> None:
    find = (
        "import importlib.util as u; print(u.find_spec('torch'), u.find_spec('tb_hookview').origin)"
    )
    torch, _, package = run(python, "-c", find, cwd=python.parent).strip().partition(" ")
    assert torch == "None"
    assert Path(package).is_relative_to(python.parents[1])


def test_tensorboard_serves_the_page_its_script_and_an_answer(
    tensorboard: TensorBoard, wheel: Path
) -> None:
    listing = tensorboard.json("data/plugins_listing")
    assert listing["hookview"]["enabled"] is True
    assert "pytorch_profiler" not in listing, "no other profiler's tab comes first"
    assert b'import("./index.js")' in tensorboard.get("data/plugin_entry.html?name=hookview")
    with zipfile.ZipFile(wheel) as archive:
        for name in ("index.html", "index.js"):
            expected = archive.read(f"tb_hookview/static/{name}")
            assert tensorboard.get(f"data/plugin/hookview/{name}") == expected
    runs = tensorboard.json("data/plugin/hookview/api/runs")["runs"]
    assert [run["name"] for run in runs] == ["vit"]
    report = tensorboard.json("data/plugin/hookview/api/report?run=vit&worker=host")
    assert [(node["name"], node["host_us"]) for node in report["nodes"]] == [("MulBackward0", 60.0)]


def test_the_command_works(python: Path, logdir: Path) -> None:
    hookview = python.parent / "hookview"
    assert "backward 60.0 us" in run(hookview, "analyze", "--verbose", logdir)
    done = subprocess.run([hookview, "demo"], capture_output=True, text=True, cwd=logdir)
    assert done.returncode == 2
    assert done.stderr.startswith("hookview: the demo records with PyTorch")
    assert "tb-hookview[record]" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_npm_the_build_says_what_is_missing(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "checkout"
    shutil.copytree(checkout, bare, ignore=NOT_CHECKED_OUT)
    monkeypatch.setenv("PATH", str(tmp_path))
    build = [sys.executable, "setup.py", "--quiet", "build"]
    done = subprocess.run(build, cwd=bare, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.startswith("error: npm is not installed")
    assert not (bare / "build" / "lib" / "tb_hookview").exists()


def test_a_source_archive_carries_the_page_built_and_unbuilt(unpacked: Path) -> None:
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")}
    assert {"frontend/package-lock.json", "tb_hookview/static/index.js", "LICENSE"} <= names
    assert {"tb_hookview/static/sources.sha256", "docs/CHANGELOG.md", "docs/generate.py"} <= names
    assert "docs/notebooks/tuning.ipynb" in names
    assert not any("node_modules" in name for name in names)


def test_the_page_of_the_archive_is_what_is_installed(unpacked: Path, python: Path) -> None:
    find = "import tb_hookview as h; print(h.__file__)"
    package = Path(run(python, "-c", find, cwd=python.parent).strip()).parent
    assert package.is_relative_to(python.parents[1])
    script = (unpacked / "tb_hookview" / "static" / "index.js").read_bytes()
    assert (package / "static" / "index.js").read_bytes() == script


def test_an_index_would_take_both(archive: Path, wheel: Path, tmp_path: Path) -> None:
    requirements = Path(__file__).with_name("requirements.txt")
    run(*PIP, "install", "--no-compile", "--target", tmp_path, "-r", requirements)
    twine = ("-m", "twine", "--no-color", "check", "--strict")
    said = run(sys.executable, *twine, archive, wheel, PYTHONPATH=str(tmp_path))
    assert said.count("PASSED") == 2
