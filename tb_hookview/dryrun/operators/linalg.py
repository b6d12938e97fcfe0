"""Rows of linear algebra: checks of errors, and how a result was found."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.dryrun.operators.row import Arguments, Reason, Row, always, filled, when

_ERRORS = Reason("check", "errors are read back")
_FINITE = Reason("check", "whether all values are finite is read")
_REAL = Reason("read", "whether all eigenvalues are real is read")
_BATCH = "linalg/BatchLinearAlgebra.cpp, BatchLinearAlgebra.cpp"


def _svd(a: Arguments) -> Iterator[Reason]:
    if filled(a["A"]):
        yield _ERRORS
        if a["driver"] is None:
            yield Reason("to_host", "whether gesvdj converged is copied to the host")


def _eigenvalues(a: Arguments) -> Iterator[Reason]:
    if filled(a["self"]):
        yield _ERRORS
        if not a["self"].is_complex():
            yield _REAL


def _eigenvectors(a: Arguments) -> Iterator[Reason]:
    if filled(a["self"]):
        yield _FINITE
        yield from _eigenvalues(a)


def _exponent(a: Arguments) -> Iterator[Reason]:
    if filled(a["self"]) and a["self"].size(-1) > 1:
        yield Reason("to_host", "norms are copied to the host")
        yield Reason("to_device", "which matrices have a norm of that size is copied to the device")


ROWS = (
    Row(
        ("_linalg_svd",),
        "always; twice without driver=, for gesvdj's convergence",
        "BatchLinearAlgebra.cpp, cuda/linalg/BatchLinearAlgebraLib.cpp",
        _svd,
        evidence="binary",
        symbols=("structured__linalg_svd_out",),
    ),
    Row(
        ("_linalg_eigh", "cholesky", "linalg_lstsq"),
        "always",
        _BATCH,
        always(_ERRORS),
        evidence="binary, recording",
        symbols=("structured__linalg_eigh_out", "cholesky", "linalg_lstsq_out"),
    ),
    Row(
        ("_linalg_eigvals", "linalg_eigvals"),
        "always: errors, and of a real matrix whether its eigenvalues are real",
        _BATCH,
        _eigenvalues,
        evidence="binary",
        symbols=("_linalg_eigvals", "linalg_eigvals_out", "linalg_eig_out_info"),
    ),
    Row(
        ("linalg_eig",),
        "always: whether the matrix is finite, errors, and of a real matrix whether its "
        "eigenvalues are real; where it runs on the host (CUDA before 12.8) it copies there and "
        "back instead",
        _BATCH,
        _eigenvectors,
        evidence="binary, recording",
        symbols=("linalg_eig_out",),
    ),
    Row(
        (
            *("linalg_inv_ex", "linalg_cholesky_ex", "_linalg_solve_ex", "linalg_lu_factor_ex"),
            "linalg_ldl_factor_ex",
        ),
        "check_errors=True",
        _BATCH,
        when(lambda a: a["check_errors"] and not a.is_empty, _ERRORS),
        evidence="binary",
        symbols=(
            *("structured_linalg_inv_ex_out", "structured_linalg_cholesky_ex_out"),
            *("structured__linalg_solve_ex_out", "structured_linalg_lu_factor_ex_out"),
            "structured_linalg_ldl_factor_ex_out",
        ),
    ),
    Row(
        ("linalg_matrix_exp",),
        "matrices of more than one element: at least norms to the host, and indices back; up to "
        "four more by the norm, which a row cannot know",
        "LinearAlgebra.cpp",
        _exponent,
        symbols=("linalg_matrix_exp",),
    ),
)
