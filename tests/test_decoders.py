"""Decoders of typed JSON are built in any thread."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
from grid import events, write

import tb_hookview as hookview
from tb_hookview.decoders import decoder

PICTURE = """
main     notes   [ProfilerStep#1                           ]
main     ops      [mm seq=1 ]
autograd ops                   [node seq=1 F=1]
main     calls      [launch corr=7]
gpu      kernel                     [k corr=7]
"""
# Without `decoder` this ends by a signal four times of five.
AT_ONCE = """
import sys, threading
from tb_hookview.decoders import decoder
from tb_hookview.schema import ReportData

text = open(sys.argv[1], "rb").read()
sys.setswitchinterval(1e-6)
start = threading.Barrier(12)

def decode():
    start.wait()
    decoder(ReportData).decode(text)

threads = [threading.Thread(target=decode) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_many_threads_build_the_first_decoder_at_once(tmp_path: Path) -> None:
    report = hookview.analyze(write(tmp_path / "t.pt.trace.json", events(PICTURE)))
    text = tmp_path / "report.json"
    text.write_bytes(msgspec.json.encode(report.data))
    command = [sys.executable, "-c", AT_ONCE, str(text)]
    ended = [
        subprocess.run(command, timeout=300, check=False, capture_output=True) for _ in range(4)
    ]
    assert [(each.returncode, each.stderr) for each in ended] == [(0, b"")] * 4


def test_a_hook_makes_what_json_has_no_word_for() -> None:
    assert decoder(list[complex], lambda _type, real: complex(real)).decode("[1]") == [1 + 0j]
