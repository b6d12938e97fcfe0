"""Shared by all tests: nothing of a test may reach the user's own files."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example took says how busy the machine is, and nothing of whether the code is right.
settings.register_profile("tb_hookview", deadline=None)
settings.load_profile("tb_hookview")
# What a test reads is read there and then; tests of the cache name a folder of their own.
os.environ["HOOKVIEW_CACHE"] = "off"
# A rule or a table that fails takes nothing else down, except a test.
os.environ["HOOKVIEW_STRICT"] = "1"
# One thread for each operator: two wait for each other where each core has a test to run.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Inductor writes C++ without vector instructions: to find out which the compiler has takes five
# seconds in each new cache, and the modules of its calls do not depend on it.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")
# Equal kernels are compiled once for all caches of Inductor, in each process that compiles.
if "CXX" not in os.environ and shutil.which("g++"):
    os.environ["CXX"] = str(Path(__file__).parent / "support" / "caching_g++")
# With all libraries imported, whole collections take a tenth of a second and more each.
gc.set_threshold(50_000, 20, 20)
sys.path.insert(0, str(Path(__file__).parent))
# What their functions assert is explained as in a test.
pytest.register_assert_rewrite("damage", "fuzz", "invariants", "support")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file without slow tests where those alone are run: all take half a minute."""
    if config.option.markexpr != "slow" or not collection_path.match("test_*.py"):
        return None
    return True if "slow" not in collection_path.read_text().lower() else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Begin what a failing test says with what is wrong, and with how to run it alone."""
    report = yield
    if report.failed and call.excinfo is not None:
        wrong = next(iter(str(call.excinfo.value).splitlines()), "") or call.excinfo.typename
        alone = f"alone: python -m pytest '{item.nodeid}'"
        report.longrepr = f"{wrong}\n{alone}\n\n{report.longreprtext}"
    return report


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all tests, those of other processes of this session as well."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels(session_folder: Path) -> None:
    """Where `support/caching_g++` finds what it has compiled."""
    folder = session_folder / "kernels"
    folder.mkdir(exist_ok=True)
    os.environ["CACHE_OF_GXX"] = str(folder)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT interrupts, here and in processes started here, also where pytest was started with it
    ignored (`nohup`, `&` in a script)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
