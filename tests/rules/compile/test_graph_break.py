"""`graph-break`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import findings

from tb_hookview.markers import COMPILED_KEY

RULE = "graph-break"
NAMES = {
    "r00": "Torch-Compiled Region: 0/0",
    "r10": "Torch-Compiled Region: 1/0",
    "lookup": "TorchDynamo Cache Lookup",
    "graph": "## Call CompiledFxGraph f123 ##",
    "rest": "model.py(7): torch_dynamo_resume_in_forward_at_9",
}
BROKEN = """
    main ops     [r00                                                                  ]
    main ops       [CompiledFunction]    [aten::item ]  [lookup]  [r10                 ]
    main ops         [graph       ]                                  [CompiledFunction]
    main calls        [launch corr=1]                                  [launch corr=2]
    gpu  kernel                [k corr=1]                                        [k corr=2]
    """


def test_a_region_that_goes_on_in_another(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, BROKEN, NAMES)[RULE]
    assert finding.where == "between compiled regions 0/0 and 1/0"
    assert finding.evidence.startswith(
        "1 time in the trace compiled region 0/0 runs Python and goes on in region 1/0; 29.0 us "
        "of host time in between, with aten::item; the device idled"
    )
    assert finding.cost_us_per_step == 40, "up to the first kernel of what goes on"


def test_compilation_is_no_part_of_a_break(tmp_path: Path) -> None:
    picture = BROKEN.replace("[aten::item ]", "[compile    ]")
    names = {**NAMES, "compile": "_compile.compile_inner (dynamo_timed)"}
    (finding,) = findings(tmp_path, picture, names)[RULE]
    assert "goes on in region 1/0; 16.0 us of host time in between; " in finding.evidence


def test_the_line_that_broke_the_graph(tmp_path: Path) -> None:
    stacks = "main python                                                   [rest             ]"
    (finding,) = findings(tmp_path, f"{BROKEN}{stacks}\n", NAMES)[RULE]
    assert finding.where == "model.py, line 9, in forward"


def test_a_rest_without_a_region_of_its_own_is_not_the_line_of_the_region_around_it(
    tmp_path: Path,
) -> None:
    stacks = """
    main python                                                       [rest         ]
    main python                                                              [late]
    """
    names = {**NAMES, "late": "model.py(7): torch_dynamo_resume_in_forward_at_11"}
    (finding,) = findings(tmp_path, f"{BROKEN}{stacks.lstrip()}", names)[RULE]
    assert finding.where == "model.py, line 9, in forward"


def test_a_function_that_is_called_is_no_rest(tmp_path: Path) -> None:
    """The rest has no region: nothing is left of it to compile."""
    stacks = """
    main python                                                       [called    ]
    main python                                                                    [rest]
    """
    names = {**NAMES, "called": "torch/optim/optimizer.py(132): maybe_fallback"}
    assert RULE not in findings(tmp_path, f"{BROKEN}{stacks.lstrip()}", names)


def test_two_breaks_in_one_function(tmp_path: Path) -> None:
    picture = """
        main ops  [r00                                                          ]
        main ops    [CompiledFunction]  [r10                                    ]
        main ops                           [CompiledFunction]   [r20          ]
        """
    found = findings(tmp_path, picture, {**NAMES, "r20": "Torch-Compiled Region: 2/0"})[RULE]
    assert {each.where.removeprefix("between compiled ") for each in found} == {
        "regions 0/0 and 1/0",
        "regions 1/0 and 2/0",
    }


def test_functions_that_are_compiled_separately(tmp_path: Path) -> None:
    picture = """
        main ops  [lookup] [r00                   ]  [lookup] [r10                   ]
        main ops             [CompiledFunction]                 [CompiledFunction]
        """
    assert RULE not in findings(tmp_path, picture, NAMES)


def test_a_compiled_function_inside_an_operator_of_a_graph(tmp_path: Path) -> None:
    picture = """
        main ops  [r00                                                 ]
        main ops    [CompiledFunction                                 ]
        main ops      [my::operator                                 ]
        main ops                        [r10                       ]
        """
    assert RULE not in findings(tmp_path, picture, NAMES)


def test_guards_that_are_tested(tmp_path: Path) -> None:
    picture = """
        main ops  [lookup              ]  [r00                 ]
        main ops                            [CompiledFunction]
        """
    assert RULE not in findings(tmp_path, picture, NAMES)


def test_the_line_and_the_reason_that_dynamo_reports(tmp_path: Path) -> None:
    known = {"compile_id": "0/0", "file": "net.py", "line": 9, "function": "forward"}
    other = {**known, "compile_id": "7/0", "line": 8, "reason": "another"}
    breaks = [other, {**known, "reason": "Tensor.item()"}]
    compiled = {COMPILED_KEY: {"version": 1, "graphs": [], "missing": [], "breaks": breaks}}
    (finding,) = findings(tmp_path, BROKEN, NAMES, **compiled)[RULE]
    assert finding.where == "net.py, line 9, in forward"
    assert "; Dynamo's reason: Tensor.item();" in finding.evidence


def test_a_break_of_torchs_own_in_a_compiled_optimizer_is_none(tmp_path: Path) -> None:
    known = {"compile_id": "0/0", "file": "torch/optim/optimizer.py", "line": 79}
    breaks = [{**known, "function": "_use_grad", "reason": "Call to graph_break()"}]
    compiled = {COMPILED_KEY: {"version": 1, "graphs": [], "missing": [], "breaks": breaks}}
    assert RULE not in findings(tmp_path, BROKEN, NAMES, **compiled)


def test_a_break_in_several_variants_of_a_function_is_one(tmp_path: Path) -> None:
    names = {**NAMES, "r01": "Torch-Compiled Region: 0/1"}
    picture = """
        main ops  [r00                                  ]  [r01                                   ]
        main ops    [CompiledFunction] [r10           ]      [CompiledFunction] [r10            ]
        """
    (finding,) = findings(tmp_path, picture, names)[RULE]
    assert finding.where == "between compiled regions 0/0, 0/1 and 1/0"
    at = {"file": "net.py", "line": 9, "function": "forward", "reason": "print"}
    breaks = [{**at, "compile_id": each} for each in ("0/0", "0/1")]
    compiled = {COMPILED_KEY: {"version": 1, "graphs": [], "missing": [], "breaks": breaks}}
    (finding,) = findings(tmp_path, picture, names, **compiled)[RULE]
    assert finding.where == "net.py, line 9, in forward"
    assert finding.count == 2
    assert "compiled region 0/0, 0/1 runs Python and goes on in region 1/0" in finding.evidence


def test_the_modules_that_a_break_cuts(tmp_path: Path) -> None:
    names = {**NAMES, "around": "blocks.0 (Block) forward ~hv1"}
    picture = """
        main ops  [around                                                       ]
        main ops    [r00                                                      ]
        main ops      [CompiledFunction]  [r10                              ]
        main ops                             [CompiledFunction]
        """
    (finding,) = findings(tmp_path, picture, names)[RULE]
    assert "; it cuts blocks.0;" in finding.evidence


def test_a_region_that_a_module_or_a_function_runs_is_no_rest_of_the_one_around(
    tmp_path: Path,
) -> None:
    """0/0 gave up on its modules, whose line broke: it breaks once in each of their calls."""
    names = {**NAMES, "r20": "Torch-Compiled Region: 2/0", "r30": "Torch-Compiled Region: 3/0"}
    names |= {"a": "a (Block) forward ~hv1", "b": "b (Block) forward ~hv1"}
    picture = """
        main ops  [r00                                                                        ]
        main ops   [r30 ] [a                              ] [b                               ]
        main ops            [r10                        ]     [r10                         ]
        main ops             [CompiledFunction] [r20  ]         [CompiledFunction] [r20  ]
        """
    (finding,) = findings(tmp_path, picture, names)[RULE]
    assert finding.where == "between compiled regions 1/0 and 2/0"
    assert finding.count == 2
