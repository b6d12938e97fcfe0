"""The short summary."""

from __future__ import annotations

import io
from pathlib import Path

import gallery
import grid
import pytest
from msgspec.structs import replace
from rich.console import Console

from tb_hookview.document.document import Document
from tb_hookview.document.terminal import rendered
from tb_hookview.loading import analyze, load
from tb_hookview.report.build import build_report
from tb_hookview.report.summary.brief import brief_document, brief_lines, class_table

AHEAD = """
    main notes  [ProfilerStep#1            ]
    main ops    [aten::mm           ]
    main calls  [cudaLaunch corr=1 ]
    gpu  kernel     [k corr=1                       ]
"""


BETWEEN = """
    main notes  [ProfilerStep#1            ]   [ProfilerStep#2            ]   [ProfilerStep#3            ]
    main ops    [aten::mm                 ]      [aten::mm                 ]    [aten::mm                 ]
    main calls  [cudaLaunch corr=1 ]             [cudaLaunch corr=2 ]          [cudaLaunch corr=3 ]
    gpu  kernel     [k corr=1 ]                        [k corr=2 ]                    [k corr=3 ]
"""

TURNS = """
    main notes  [ProfilerStep#1            ]   [ProfilerStep#2            ]   [ProfilerStep#3            ]
    main ops    [aten::mm  ]                   [aten::mm  ]                   [aten::mm  ]
    main calls  [cuda corr=1 ][wait     ]      [cuda corr=2 ][wait     ]      [cuda corr=3 ][wait     ]
    gpu  kernel         [k corr=1     ]                [k corr=2     ]                [k corr=3     ]
"""

ENDS_IDLE = """
    main ops    [aten::mm           ]    [aten::mm]
    main calls  [cudaLaunch corr=1 ]
    gpu  kernel     [k corr=1                       ]
    main python                                                               [close]
"""


@pytest.mark.parametrize(
    ("picture", "step"),
    [
        (AHEAD, "step 28.0 us on the host, 37.0 us on the device (ProfilerStep#1,"),
        (
            AHEAD.replace("            ]\n    main ops", "                       ]\n    main ops"),
            "step 39.0 us on the host (ProfilerStep#1,",
        ),
        (
            AHEAD.replace(" " * 23 + "]\n", " " * 15 + "]\n"),
            "step 28.0 us on the host, 29.0 us until the device finishes (ProfilerStep#1,",
        ),
        (BETWEEN, "step 28.0 us on the host, 29.5 us with the gap to the next ("),
        (TURNS, "step 28.0 us on the host, 29.5 us with the gap to the next ("),
        (ENDS_IDLE, "trace 69.0 us on the host, 37.0 us of it replayed (it marks no steps)"),
    ],
)
def test_the_step_is_also_given_with_what_the_device_has_left(
    picture: str, step: str, tmp_path: Path
) -> None:
    names = {"cuda": "cudaLaunchKernel", "wait": "cudaStreamSynchronize"}
    report = build_report(load(grid.write(tmp_path / "t.json", grid.events(picture, names))))
    assert brief_lines(report.data)[-1].startswith(step)


def test_a_replay_longer_than_what_was_recorded_shows_no_device_work(tmp_path: Path) -> None:
    data = build_report(load(grid.write(tmp_path / "t.json", grid.events(AHEAD)))).data
    recorded = replace(data.verdict, step_us=28.0)
    line = brief_lines(replace(data, verdict=recorded))[-1]
    assert line.startswith("step 28.0 us on the host, 37.0 us replayed (")
    recorded = replace(data.verdict, step_us=36.0)
    line = brief_lines(replace(data, verdict=recorded))[-1]
    assert line.startswith("step 28.0 us on the host, 36.0 us on the device, 37.0 us replayed (")


def test_the_share_of_a_module_is_one_of_all_device_time(tmp_path: Path) -> None:
    """Most of it is a graph's, which is launched outside of modules."""
    picture = """
        main python [nn.Module ]
        main calls    [go corr=1]    [graph corr=2]
        gpu  kernel     [k corr=1]        [k corr=2][k corr=2                 ]
        """
    names = {
        "nn.Module": "nn.Module: Sampler_0",
        "go": "cudaLaunchKernel",
        "graph": "cudaGraphLaunch",
    }
    report = build_report(load(grid.write(tmp_path / "t.json", grid.events(picture, names))))
    (row,) = class_table(report.counted.data).rows
    assert row[-1] == "21.3%"


def test_kernels_are_listed_where_modules_have_next_to_nothing(tmp_path: Path) -> None:
    """And work outside of the trace, for which a stream waits, is not the critical path."""
    late, long = " " * 240, " " * 100
    picture = f"""
        main python [nn.Module ]
        main calls    [go corr=1]    [graph corr=2]
        gpu  kernel{late}[k corr=1][k corr=2{long}]
        """
    names = {"nn.Module": "nn.Module: Sampler_0", "graph": "cudaGraphLaunch"}
    report = build_report(load(grid.write(tmp_path / "t.json", grid.events(picture, names))))
    assert class_table(report.counted.data).title == "Kernels by time"
    assert brief_lines(report.data)[2].startswith("critical path of recorded work: device other ")


@pytest.mark.parametrize("path", gallery.kinds_of_traces(200_000), ids=gallery.label)
@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_a_screen_and_says_nothing_twice(path: Path, width: int) -> None:
    text = _printed(analyze(path).brief("--verbose shows all"), width)
    lines = [line.strip() for line in text.splitlines()]
    assert len(lines) <= 25
    assert max(map(len, lines[1:])) <= width
    said = list(filter(None, lines))
    assert len(said) == len(set(said))


def _printed(document: Document, width: int = 120) -> str:
    console = Console(width=width, file=io.StringIO(), record=True, markup=False)
    console.print(rendered(document))
    return console.export_text()


def test_findings_that_save_next_to_nothing_are_left_to_the_whole_summary() -> None:
    gpu = gallery.FOLDER.with_name("gpu")
    data = analyze(gpu / "item_every_step.before").data
    (finding,) = (each for each in data.findings if each.rule == "sync-scalar-item")
    texts = [
        _printed(brief_document(replace(data, findings=[each]), data))
        for each in (replace(finding, negligible=little) for little in (True, False))
    ]
    assert ["no finding saves 0.5%" in text for text in texts] == [True, False]
    assert [finding.title in text for text in texts] == [False, True]


def test_the_step_without_the_first_finding_is_said_of_one_that_is_listed() -> None:
    data = analyze(gallery.FOLDER.with_name("gpu") / "item_every_step.before").data
    step = data.verdict.step_us or 0.0
    first = replace(data.findings[0], gain_us_per_step=0.02 * step, negligible=False)
    texts = [
        " ".join(brief_lines(replace(data, findings=[replace(first, negligible=little)])))
        for little in (True, False)
    ]
    assert ["without the first finding" in text for text in texts] == [False, True]


def test_a_step_without_devices_is_not_longer_by_their_work() -> None:
    data = analyze(gallery.FOLDER.with_name("gpu") / "item_every_step.before").data
    host = data.per_step.duration_us or 0.0
    longer = replace(data.verdict, step_us=1.2 * host, host_side_us=0.9 * host, device_us=None)
    text = " ".join(brief_lines(replace(data, verdict=longer, critical_path_work=[])))
    assert "with the gap to the next" in text


@pytest.mark.parametrize("saved", [None, 20.0])
def test_why_no_finding_is_about_time_without_rows_is_said(
    saved: float | None, tmp_path: Path
) -> None:
    data = build_report(load(grid.write(tmp_path / "t.json", grid.events(AHEAD)))).data
    (first, *_) = data.critical_path_work
    work = [replace(first, part="host", phase=None, name=None, us=28.0), replace(first, us=9.0)]
    finding = analyze(gallery.FOLDER.with_name("gpu") / "item_every_step.before").data.findings[0]
    known = replace(data, critical_path_work=work, findings=[])
    if saved:
        known = replace(known, findings=[replace(finding, gain_us_per_step=saved)])
    text = _printed(brief_document(known, known))
    assert ("of what the trace does not name only long gaps" in text) == (saved is None)
