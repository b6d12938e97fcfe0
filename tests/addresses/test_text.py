"""Addresses as text: what of one is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_hookview.addresses.text import child, is_address, is_chained, last_part, scrubbed, shown

SIGNED = "https://host/t.json.gz?X-Amz-Signature=5ecret&X-Amz-Expires=60"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("s3://bucket/user@host/run", "s3://bucket/user@host/run"),
        ("s3://key:5ecr/et@bucket/run", "s3://bucket/run"),
        ("http://user:5ecret@host:8080/a@b", "http://host:8080/a@b"),
        ("http://host:8080/user@x/t.json", "http://host:8080/user@x/t.json"),
        ("https://5ecret@host/run", "https://host/run"),
        ("http://[::1]:9000/run", "http://[::1]:9000/run"),
        ("abfs://container@account.host/run", "abfs://container@account.host/run"),
        ("abfs://user:5ecret@host/run?sig=5ecret", "abfs://host/run"),
        (SIGNED, "https://host/t.json.gz"),
        ("https://host/t.json#5ecret", "https://host/t.json"),
        ("runs/what?.json", "runs/what?.json"),
    ],
)
def test_what_is_secret_is_not_shown(address: str, expected: str) -> None:
    assert shown(address) == expected
    assert shown(Path("a")) == "a"


def test_messages_of_others_are_scrubbed() -> None:
    message = f"403,\n message='Forbidden', url='{SIGNED}', path=/t?sig=5ecret"
    assert scrubbed(message) == "403, message='Forbidden', url='https://host/t.json.gz path=/t"
    assert scrubbed("a" * 1000) == "a" * 200


def test_names_and_children() -> None:
    assert last_part(SIGNED) == "t.json.gz"
    assert child("https://host/run/?sig=1", "a/t.json") == "https://host/run/a/t.json?sig=1"
    assert child("memory://run", "t.json") == "memory://run/t.json"


def test_paths_are_no_addresses() -> None:
    assert not is_address("runs/vit")
    assert not is_address(Path("s3://bucket"))
    assert is_address("s3://bucket")
    assert is_chained("simplecache::s3://bucket/run")
    assert not is_chained("http://[::1]:9000/run")
