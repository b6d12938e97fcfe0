"""Ranges of `fully_shard`: what they gather and reduce belongs to the module that they name."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.owners import module, report_of

from tb_hookview import markers

NAMES = {
    "pre_forward": "FSDP::pre_forward (fc)",
    "root_gather": "FSDP::pre_forward",
    "gather": "FSDP::all_gather (fc)",
    "prefetch": "FSDP::backward_prefetch for fc",
    "callback": "FSDP::root_post_backward_callback",
    "reduce": "FSDP::post_backward_reduce (fc)",
}
FORWARD = """
    main notes [root_gather ]
    main ops                   [root                                                  ]
    main notes                  [pre_forward          ]
    main notes                   [gather             ]
    main ops                                            [fc                          ]
    main ops                                             [aten::mm seq=4            ]
    main calls  [go corr=1]         [go corr=2]             [go corr=3]
    gpu  kernel     [ag corr=1]        [gat corr=2]              [gemm corr=3]
    """


def test_gathers_before_the_call(tmp_path: Path) -> None:
    """Before torch 2.12 our marks come after `pre_forward`; without a name it is the root's."""
    data = report_of(tmp_path, FORWARD, {**NAMES, "go": "cudaLaunchKernel"})
    root, fc = module(data, "").forward, module(data, "fc").forward
    assert (root.self_device_us, fc.self_device_us) == (11, 12 + 13)
    assert data.totals.forward_device_us == 11 + 12 + 13


@pytest.mark.parametrize(
    ("path", "owner"), [("fc", "fc"), ("elsewhere", ""), ("fc, relu", "")], ids=str
)
def test_a_name_that_is_no_module(path: str, owner: str, tmp_path: Path) -> None:
    names = {**NAMES, "go": "cudaLaunchKernel"}
    names |= {"pre_forward": f"FSDP::pre_forward ({path})", "gather": f"FSDP::all_gather ({path})"}
    data = report_of(tmp_path, FORWARD, names)
    own = {path: module(data, path).forward.self_device_us or 0 for path in ("", "fc")}
    assert own["fc"] == 13 + (12 if owner == "fc" else 0)


def test_paths_below_a_module_that_was_sharded_in_a_wrapped_one(tmp_path: Path) -> None:
    names = {
        **NAMES,
        "go": "cudaLaunchKernel",
        "root": markers.encode("forward", "net", "Net"),
        "fc": markers.encode("forward", "net.fc", "Linear"),
    }
    data = report_of(tmp_path, FORWARD, names)
    own = [module(data, path).forward.self_device_us for path in ("net", "net.fc")]
    assert own == [11, 12 + 13]


def test_the_backward_of_another_module_gathers_ahead(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops  [root                                      ]
        main ops   [fc              ]  [relu                ]
        main ops    [aten::mm seq=4]    [aten::relu seq=5  ]
        auto ops                                              [relu' seq=5 F=1 ]
        auto notes                                             [prefetch      ]
        auto calls                                              [go corr=1  ]
        gpu  kernel                                                 [gat corr=1]
        """,
        {**NAMES, "go": "cudaLaunchKernel"},
    )
    assert module(data, "relu").backward.self_device_us == 0
    assert module(data, "fc").backward.self_device_us == 12
    assert data.coverage.by_evidence == {"sharding": 12}


def test_what_is_reduced_after_the_last_node_is_backward(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops  [root                ]
        main ops   [fc              ]
        main ops    [aten::mm seq=4]
        auto ops                        [mm' seq=4 F=1 ]
        auto notes                                       [callback                     ]
        auto calls                                        [go corr=1]
        auto notes                                                     [reduce        ]
        auto calls                                                      [go corr=2   ]
        gpu  kernel                                         [add corr=1]    [red corr=2]
        """,
        {**NAMES, "go": "cudaLaunchKernel"},
    )
    assert data.totals.backward_device_us == data.coverage.backward_device_us == 12 + 12
    assert data.coverage.unattributed_us == 0
    own = [module(data, path).backward.self_device_us for path in ("", "fc")]
    assert own == [12, 12]
    assert (data.steps[0].backward_us, data.steps[0].other_us) == (16 + 31, 1)
