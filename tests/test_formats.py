"""Numbers and names as text."""

from __future__ import annotations

import pytest

from tb_hookview.formats import (
    format_against,
    format_bytes,
    format_change,
    format_count,
    format_kernel,
    format_number,
    format_share,
    format_us,
    printable,
    source_name,
)


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "-"),
        (0.0, "0 us"),
        (0.004, "0.00 us"),
        (1.234, "1.23 us"),
        (9.994, "9.99 us"),
        (9.995, "10.0 us"),
        (99.94, "99.9 us"),
        (99.95, "100 us"),
        (999.4, "999 us"),
        (999.5, "1.00 ms"),
        (12_345.0, "12.3 ms"),
        (167288.1, "167 ms"),
        (999_499, "999 ms"),
        (999_500, "1.00 s"),
        (43_210_000, "43.2 s"),
        (1_234_500_000, "1234 s"),
        (-1500.0, "-1.50 ms"),
    ],
)
def test_durations_have_three_digits_and_the_unit_that_fits(us: float | None, text: str) -> None:
    assert format_us(us) == text


def test_changes_have_a_sign() -> None:
    written = [format_change(us) for us in (1500.0, -1500.0, 0.0, None)]
    assert written == ["+1.50 ms", "-1.50 ms", "0 us", "-"]


def test_a_share_of_nothing_is_no_number() -> None:
    assert format_share(1.0, 4.0) == "25.0%"
    assert format_share(0.0, 4.0) == "0.0%"
    assert [format_share(part, 1e4) for part in (1.0, -1.0, 9999.0, 1e4)] == [
        *("<0.1%", "<0.1%", ">99.9%", "100.0%"),
    ]
    assert format_share(1.0, 0.0) == format_share(None, 4.0) == format_share(1.0, None) == "-"


def test_counts_are_whole_and_their_means_have_four_digits() -> None:
    assert [format_number(n) for n in (None, 0, 1_234_567, 2.0, 2.5, 1234.56)] == [
        *("-", "0", "1,234,567", "2", "2.5", "1,235"),
    ]


def test_counts_with_a_noun() -> None:
    assert format_count(1, "step") == "1 step"
    assert format_count(0, "copy", "copies") == "0 copies"
    assert format_count(2_000, "step") == "2,000 steps"
    assert format_count(1.4, "step") == "1 step"
    assert format_count(1.6, "step") == "2 steps"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0.00 B"),
        (999, "999 B"),
        (1_000, "1.00 kB"),
        (23_400_000, "23.4 MB"),
        (999_600_000, "1.00 GB"),
        (80e9, "80.0 GB"),
    ],
)
def test_sizes_have_the_unit_that_fits(size: float, text: str) -> None:
    assert format_bytes(size) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("blocks.0.attn", "blocks.0.attn"),
        ("Größe 数", "Größe 数"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\udcff", r"\udcff"),
        ("right\u202eleft", r"right\u202eleft"),
    ],
)
def test_a_terminal_is_given_nothing_to_act_upon(name: str, text: str) -> None:
    assert printable(name) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sage_fwd", "sage_fwd"),
        (
            "void dpsk::ep::internode::combine<false, 8>(int4*, float*)",
            "dpsk::ep::internode::combine",
        ),
        ("void at::native::(anonymous namespace)::sample<float>(int)", "at::native::sample"),
        ("Cijk_" + "A" * 300, "Cijk_" + "A" * 40 + "..."),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_nn>(Params)", "cutlass_80_simt_sgemm_nn"),
        ("std::enable_if<!(false), void>::type gemvx::kernel<int, 6>(int)", "gemvx::kernel"),
        ("<unknown>", "<unknown>"),
        ("", ""),
    ],
)
def test_a_kernels_name_fits_into_a_sentence(name: str, text: str) -> None:
    assert format_kernel(name) == text


@pytest.mark.parametrize(
    ("number", "limit", "text"),
    [
        (14.8669, 8.17011, "14.9"),
        (8.17011, 8.17011, "8.17"),
        (5.0004, 5, "5.0004"),
        (4.9996, 5, "5.00"),
        (-13.9903, 5, "-14.0"),
        (0, 0, "0"),
        (1234567, 5, "1234567"),
        (0.012345, 0.0, "0.0123"),
    ],
)
def test_a_number_next_to_its_limit(number: float, limit: float, text: str) -> None:
    assert format_against(number, limit) == text


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("_Z17fmha_cutlassF_f32N8PyTorch63MapE", "fmha_cutlassF_f32(N8PyTorch63MapE)"),
        ("_ZN2at6native6reduceILi512ELi1EEvT1_", "at::native::reduce<Li512ELi1EEvT1_"),
        ("_ZN7cutlass7Kernel2I9gemm_nt_4EEvNT_1PE", "cutlass::Kernel2<gemm_nt_4>EEvNT_1PE"),
        ("_ZN2at18_GLOBAL__N__87a90f4normIffEEvi", "at::(anonymous namespace)::norm<ffEEvi"),
        ("_ZN2at4sortEi", "at::sort(i)"),
        *((name, name) for name in ("_Z", "_ZN", "_Z5ab", "_ZN3", "_Zabc", "_ZTV3foo", "gemm", "")),
    ],
)
def test_mangled_names_are_those_of_the_source(name: str, source: str) -> None:
    assert source_name(name) == source


def test_the_argument_of_cutlass_names_its_kernel() -> None:
    assert format_kernel("_ZN7cutlass7Kernel2I9gemm_nt_4EEvNT_1PE") == "gemm_nt_4"
