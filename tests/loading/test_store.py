"""Reading a trace once, however often and by however many it is looked at."""

from __future__ import annotations

import gzip
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from shared_traces import shared_trace

from tb_hookview import NotFoundError, TraceError
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import CachedReader
from tb_hookview.loading import store as stores
from tb_hookview.loading.store import ReadingProgress, Store, UnwantedError
from tb_hookview.progress import Count, silent, uncounted
from tb_hookview.progress import Progress as Show
from tb_hookview.report import build
from tb_hookview.report.open_trace import BYTES, Budget, OpenTrace, analysis_bytes
from tb_hookview.trace import LocalFile, TraceFile

Traces = Store[TraceFile, OpenTrace]


def load_file(file: TraceFile, show: Show = silent, count: Count = uncounted) -> Analysis:
    return CachedReader.from_environment().analysis(file, show, count)


def store_of(read: Any, most: int = BYTES, **more: Any) -> Traces:
    return Store(read, lambda _file, reading: OpenTrace(reading), Budget(most), **more)


def get(store: Traces, file: TraceFile) -> Analysis:
    return store.ask(file, lambda opened: opened.analysis)


@pytest.fixture
def training() -> Path:
    return shared_trace("hta_mi250_minitoy_training.json.gz")


@pytest.fixture
def traces(tmp_path: Path, training: Path) -> list[LocalFile]:
    paths = [tmp_path / f"trace{number}.json.gz" for number in range(3)]
    for path in paths:
        shutil.copy(training, path)
    return [LocalFile(path) for path in paths]


def test_those_who_ask_at_once_share_one_reading(traces: list[LocalFile]) -> None:
    readings: list[TraceFile] = []
    began, go_on = threading.Event(), threading.Event()

    def slow(file: TraceFile, show: Show, count: Count) -> Analysis:
        readings.append(file)
        began.set()
        assert go_on.wait(60)
        return load_file(file, show, count)

    store = store_of(slow)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(get, store, traces[0]) for _ in range(8)]
        assert began.wait(60)
        assert not any(answer.done() for answer in asked)
        go_on.set()
        first, *others = [answer.result() for answer in asked]
    assert readings == [traces[0]]
    assert all(other is first for other in others)
    assert get(store, traces[0]) is first


def test_two_traces_are_read_side_by_side(traces: list[LocalFile]) -> None:
    both = threading.Barrier(2)

    def together(file: TraceFile, show: Show, count: Count) -> Analysis:
        both.wait(60)  # breaks if one had to wait for the other
        return load_file(file, show, count)

    store = store_of(together, at_once=2)
    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(lambda file: get(store, file), traces[:2]))) == 2


def test_a_file_written_again_is_read_again(traces: list[LocalFile]) -> None:
    store = store_of(load_file)
    before = get(store, traces[0])
    shutil.copy(shared_trace("hta_cpu_only.json.gz"), traces[0].path)
    after = get(store, traces[0])
    assert len(after.trace.events) != len(before.trace.events)


def test_a_failed_reading_reaches_all_who_wait_and_is_forgotten(
    traces: list[LocalFile], training: Path
) -> None:
    began, go_on = threading.Event(), threading.Event()

    def held(file: TraceFile, show: Show, count: Count) -> Analysis:
        began.set()
        assert go_on.wait(60)
        return load_file(file, show, count)

    store = store_of(held)
    traces[0].path.write_bytes(b"not a trace")
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(get, store, traces[0]) for _ in range(2)]
        assert began.wait(60)
        go_on.set()
        for answer in asked:
            with pytest.raises(TraceError):
                answer.result()
    assert store.progress(traces[0]) == ReadingProgress("waiting", None)
    shutil.copy(training, traces[0].path)
    assert get(store, traces[0]).trace


def test_the_least_recently_used_are_dropped_first(traces: list[LocalFile]) -> None:
    two_fit = 2 * analysis_bytes(load_file(traces[0]))
    store = store_of(load_file, most=two_fit + two_fit // 4)
    first, second = get(store, traces[0]), get(store, traces[1])
    assert get(store, traces[0]) is first
    get(store, traces[2])
    assert get(store, traces[0]) is first
    assert get(store, traces[1]) is not second


def test_what_is_derived_is_made_once_and_cached_with_its_trace(traces: list[LocalFile]) -> None:
    made: list[Analysis] = []

    def derive(analysis: Analysis) -> object:
        made.append(analysis)
        return object()

    def derived(_: int = 0) -> object:
        return store.ask(traces[0], lambda opened: opened.made_of_value("this", derive))

    store = store_of(load_file, most=1)
    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(derived, range(8))
    assert made == [get(store, traces[0])]
    assert all(other is first for other in others)
    get(store, traces[1])
    assert derived() is not first


def test_one_report_is_built_for_all_who_ask_at_once(
    traces: list[LocalFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, built, both = build.build_data, [], threading.Barrier(2)

    def counted(*args: Any) -> Any:
        built.append(args)
        return real(*args)

    monkeypatch.setattr(build, "build_data", counted)

    def report(_: int) -> object:
        both.wait(60)
        return store.ask(traces[0], lambda opened: opened.data())

    store = store_of(load_file)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(report, range(2))
    assert one is other
    assert len(built) == 1


def test_what_is_derived_counts_and_goes_before_what_was_read(traces: list[LocalFile]) -> None:
    size = analysis_bytes(load_file(traces[0]))
    store = store_of(load_file, most=2 * size)
    opened = store.opened(traces[0])
    analysis = opened.analysis
    for number in range(4):
        opened.derived(number, lambda: "x", size // 2)
        assert opened.bytes <= 2 * size
    assert [number in opened for number in range(4)] == [False, False, True, True]
    assert opened.analysis is analysis
    opened.derived("large", lambda: "x", size)
    assert "large" not in opened, "more than a quarter of all is made each time"


def test_one_that_is_larger_than_all_is_cached_alone(traces: list[LocalFile]) -> None:
    store = store_of(load_file, most=1)
    first = get(store, traces[0])
    assert get(store, traces[0]) is first
    get(store, traces[1])
    assert get(store, traces[0]) is not first


def test_progress_is_that_of_the_reading_under_way(traces: list[LocalFile]) -> None:
    seen = []

    def watched(file: TraceFile, show: Show, count: Count) -> Analysis:
        def both(stage: str, done: float | None) -> None:
            show(stage, done)
            seen.append(store.progress(file))

        return load_file(file, both, count)

    store = store_of(watched)
    assert store.progress(traces[0]) == ReadingProgress("waiting", None)
    get(store, traces[0])
    stages = list(dict.fromkeys(progress.stage for progress in seen))
    assert stages == ["decoding", "columns", "attribution"]
    assert all(progress.done is None or 0 <= progress.done <= 1 for progress in seen)
    size = traces[0].path.stat().st_size
    assert store.progress(traces[0]) == ReadingProgress("done", 1.0, size, 220)
    assert [progress.events for progress in seen][-1] == 220
    assert [progress.bytes for progress in seen][-1] == size
    assert store.progress(traces[1]) == ReadingProgress("waiting", None)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="gone"):
        get(store_of(load_file), LocalFile(tmp_path / "nothing.json"))


class Readings:
    """Readings that go on and on, until they are told to finish."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = threading.Semaphore(0)
        self.finish = threading.Event()

    def __call__(self, file: TraceFile, show: Show, count: Count) -> Analysis:
        self.begun += 1
        try:
            while not self.finish.wait(0.01):
                show("decoding", 0.5)
            return load_file(file, show, count)
        finally:
            self.ended.release()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "ASKED_EVERY_S", 0.0)


@pytest.mark.usefixtures("impatient")
def test_a_reading_stops_when_the_last_who_waited_has_gone(traces: list[LocalFile]) -> None:
    readings, here = Readings(), [threading.Event(), threading.Event()]
    looked_after = [threading.Event(), threading.Event()]
    asking = iter(zip(here, looked_after, strict=True))

    def who() -> stores.Wanted:
        gone, looked = next(asking)

        def wanted() -> bool:
            looked.set()
            return not gone.is_set()

        return wanted

    store = store_of(readings, who=who)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(get, store, traces[0]) for _ in here]
        assert all(looked.wait(60) for looked in looked_after)
        here[0].set()
        assert not readings.ended.acquire(timeout=0.3), "one still waits"
        here[1].set()
        assert readings.ended.acquire(timeout=300)
        for answer in asked:
            with pytest.raises(UnwantedError):
                answer.result(60)
    assert store.progress(traces[0]) == ReadingProgress("waiting", None)


@pytest.mark.usefixtures("impatient")
def test_who_asks_as_a_reading_is_given_up_gets_another(traces: list[LocalFile]) -> None:
    readings, gone = Readings(), threading.Event()
    late = threading.Event()

    def who() -> stores.Wanted:
        return (lambda: True) if late.is_set() else (lambda: not gone.is_set())

    store = store_of(readings, who=who)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(get, store, traces[0])
        gone.set()
        assert readings.ended.acquire(timeout=300)
        late.set()
        second = pool.submit(get, store, traces[0])
        readings.finish.set()
        assert second.result(60).trace
        with pytest.raises(UnwantedError):
            first.result(60)
    assert readings.begun == 2


def test_one_more_than_may_be_read_at_once_waits_its_turn(traces: list[LocalFile]) -> None:
    reading, go_on = threading.Semaphore(0), threading.Event()

    def held(file: TraceFile, show: Show, count: Count) -> Analysis:
        show("decoding", 0.0)
        reading.release()
        assert go_on.wait(60)
        return load_file(file, show, count)

    store = store_of(held, at_once=1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(get, store, traces[0])
        assert reading.acquire(timeout=300)
        second = pool.submit(get, store, traces[1])
        assert not reading.acquire(timeout=0.3)
        assert store.progress(traces[0]).stage == "decoding"
        assert store.progress(traces[1]) == ReadingProgress("waiting", None)
        go_on.set()
        assert first.result(60) is not second.result(60)


def test_first_come_first_served_whoever_leaves_the_line(traces: list[LocalFile]) -> None:
    """Of six who ask one after the other, two go before it is their turn."""
    order: list[str] = []
    reading, go_on = threading.Semaphore(0), threading.Event()
    gone: set[int] = set()
    line = iter(range(6))

    def held(file: TraceFile, show: Show, count: Count) -> Analysis:
        order.append(file.name)
        reading.release()
        assert go_on.wait(60)
        return load_file(file, show, count)

    def who() -> stores.Wanted:
        number = next(line)
        return lambda: number not in gone

    files = [LocalFile(traces[0].path.with_name(f"{number}.json.gz")) for number in range(6)]
    for file in files:
        shutil.copy(traces[0].path, file.path)
    store = store_of(held, who=who, at_once=1)
    with ThreadPoolExecutor(6) as pool:
        asked = []
        for number, file in enumerate(files):
            asked.append(pool.submit(get, store, file))
            while len(store._readings) <= number:
                pass
        assert reading.acquire(timeout=300)
        gone |= {2, 4}
        for number in gone:
            with pytest.raises(UnwantedError):
                asked[number].result(60)
        go_on.set()
        assert all(asked[number].result(60).trace for number in (0, 1, 3, 5))
    assert order == [files[number].name for number in (0, 1, 3, 5)]


def test_a_file_written_while_it_is_read_is_read_again(traces: list[LocalFile]) -> None:
    other, readings = shared_trace("hta_cpu_only.json.gz"), 0

    def replaced(file: TraceFile, show: Show, count: Count) -> Analysis:
        nonlocal readings
        readings += 1
        analysis = load_file(file, show, count)
        if readings == 1:
            traces[0].path.write_bytes(other.read_bytes())
        return analysis

    found = get(store_of(replaced), traces[0])
    assert (readings, len(found.trace.events)) == (2, len(load_file(LocalFile(other)).trace.events))


def test_a_reading_that_fails_on_a_file_written_meanwhile_is_not_the_last_word(
    traces: list[LocalFile],
) -> None:
    whole, readings = traces[0].path.read_bytes(), 0
    traces[0].path.write_bytes(whole[:1000])

    def written(file: TraceFile, show: Show, count: Count) -> Analysis:
        nonlocal readings
        readings += 1
        if readings == 1:
            traces[0].path.write_bytes(whole)
            raise TraceError(file.address, "cut off")
        return load_file(file, show, count)

    assert get(store_of(written), traces[0]).trace
    assert readings == 2


def test_a_file_that_is_never_left_alone_says_so(traces: list[LocalFile]) -> None:
    readings = 0

    def growing(file: LocalFile, show: Show, count: Count) -> Analysis:
        nonlocal readings
        readings += 1
        analysis = load_file(file, show, count)
        with file.path.open("ab") as opened:
            opened.write(b" ")
        return analysis

    path = traces[0].path.with_suffix("")  # plain JSON may end with spaces
    path.write_bytes(gzip.decompress(traces[0].path.read_bytes()))
    with pytest.raises(TraceError, match=f"{path}: is being written to; load it again"):
        get(store_of(growing), LocalFile(path))
    assert readings == 2


def test_a_store_that_closes_stops_its_readings_and_refuses_others(traces: list[LocalFile]) -> None:
    readings = Readings()
    store = store_of(readings, at_once=1)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(get, store, path) for path in traces[:2]]
        while not readings.begun:
            pass
        store.close()
        assert readings.ended.acquire(timeout=300)
        for answer in asked:
            with pytest.raises(UnwantedError):
                answer.result(60)
    with pytest.raises(UnwantedError):
        get(store, traces[2])
    assert readings.begun == 1
