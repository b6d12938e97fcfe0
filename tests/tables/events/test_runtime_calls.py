"""The table `runtime_calls`: what each call waited for, its copy, and the sync it belongs to."""

from __future__ import annotations

from pathlib import Path

import grid

import tb_hookview as hookview

NAMES = {
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    "launch": "cudaLaunchKernel",
    "copy": "cudaMemcpyAsync",
    "wait": "cudaStreamSynchronize",
    "D2P": "Memcpy DtoH (Device -> Pageable)",
}
PICTURE = """
    main notes [s1                                                  ][s2            ]
    main ops   [aten::mm      ][aten::item                         ]
    main calls [launch corr=1]  [copy corr=2           ] [wait    ]   [launch corr=3]
    gpu  kernel [k corr=1             ]                                 [k corr=3]
    gpu  copy                          [D2P corr=2   ]
    """


def test_calls_lead_to_what_they_waited_for(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events(PICTURE, NAMES))
    report = hookview.analyze(path)
    calls = report.tables()["runtime_calls"].to_columns()
    assert calls["work"] == ["launch", "copy", "synchronize", "launch"]
    assert calls["waited_us"] == [0, 7, 0, 0]
    assert calls["transfer_us"] == [0, 15, 0, 0]
    assert calls["duration_us"] == [15, 24, 10, 15]
    assert calls["waited_for"] == [None, "k", None, None]
    work = report.tables()["device_events"].to_columns()
    of_name = dict(zip(work["name"], work["id"], strict=True))
    assert calls["copy_id"] == [None, of_name[NAMES["D2P"]], None, None]
    (sync,) = report.data.syncs
    assert calls["sync_id"] == [None, sync.id, sync.id, None]
    assert calls["step"] == ["ProfilerStep#1"] * 3 + ["ProfilerStep#2"]
    whole = zip(calls["waited_us"], calls["transfer_us"], calls["own_us"], strict=True)
    assert [sum(parts) for parts in whole] == calls["duration_us"]


def test_a_step_has_its_own_calls(tmp_path: Path) -> None:
    path = grid.write(tmp_path / "t.json", grid.events(PICTURE, NAMES))
    calls = hookview.analyze(path, steps=["ProfilerStep#2"]).tables()["runtime_calls"]
    assert calls.to_columns()["name"] == ["cudaLaunchKernel"]
