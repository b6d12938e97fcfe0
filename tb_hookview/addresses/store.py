"""The file system of an address, and its errors as one line each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from tb_hookview.addresses.text import is_chained, scrubbed, shown
from tb_hookview.errors import TraceError

_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("az", "abfs", "abfss", "adl"), "azure"),
}
"""The extra of ours that brings what an address needs."""
_HERE = frozenset({"file", "local"})
_TRY_AGAIN = "check the network and the endpoint, and run it again; what was read is kept"
_BROKEN_OFF = frozenset(
    {
        *("ConnectionError", "TimeoutError", "FSTimeoutError", "IncompleteRead"),
        *("IncompleteReadError", "ResponseStreamingError", "HTTPClientError"),
        *("ClientConnectionError", "ClientPayloadError", "EndpointConnectionError"),
    }
)
"""Classes of fsspec's implementations, by name, since none of them is imported here."""
_NO_CREDENTIALS = frozenset(
    {"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"}
)
_AZURE_UNSIGNED = "Must provide either a connection_string or account_name with credentials"
"""All that adlfs says of missing credentials."""
_RIGHTS = "check the credentials, and what they allow"


class Store(NamedTuple):
    """A place in a file system of fsspec."""

    files: Any
    path: str
    """As the file system calls it."""


def store_of(address: str) -> Store:
    """Return the file system of an address, and the path in it.

    Raises:
        TraceError: an unknown kind of address, or a package is missing.
    """
    protocol = address.partition("://")[0].lower()
    if is_chained(address):
        reason = "an address that leads through others (::)"
        raise TraceError(shown(address), reason, "name that of the files themselves")
    if protocol in _HERE:
        raise TraceError(shown(address), "a file of this machine", f"leave out {protocol}://")
    with explained(address):
        from fsspec import get_filesystem_class

        kind = get_filesystem_class(protocol)
        options = kind._get_kwargs_from_urls(address)
        files = _file_system(protocol, tuple(sorted(options.items())), os.getpid())
        return Store(files, files._strip_protocol(address))


@lru_cache(maxsize=64)
def _file_system(protocol: str, options: tuple[tuple[str, Any], ...], _process: int) -> Any:
    """A file system of our own, for all threads; none goes from a process into its fork.

    fsspec has one for each thread, and so a connection for each request of a server.
    """
    from fsspec import filesystem
    from fsspec.dircache import DirCache

    files = filesystem(protocol, **dict(options), skip_instance_cache=True)
    files.dircache = DirCache(use_listings_cache=False)  # a run grows while one looks at it
    return files


@contextmanager
def explained(address: str) -> Iterator[None]:
    """Turn what a file system raises into one line that names the address and the remedy.

    Raises:
        TraceError: whatever is raised within, without the original: its text may hold secrets.
    """
    try:
        yield
    except TraceError:
        raise
    except Exception as error:  # noqa: BLE001 - each implementation has errors of its own
        reason, remedy = _explanation(address, error)
        raise TraceError(shown(address), reason, remedy) from None


def is_missing(error: FileNotFoundError) -> bool:
    """Whether there is no such file; HTTP's file system says so of all that went wrong."""
    cause = error.__cause__
    return not isinstance(cause, Exception) or not (_is_broken_off(cause) or _is_refused(cause))


def _is_broken_off(error: Exception) -> bool:
    return bool({kind.__name__ for kind in type(error).__mro__} & _BROKEN_OFF)


def _is_refused(error: Exception) -> bool:
    return isinstance(error, PermissionError) or _status(error) in (401, 403)


def _status(error: Exception) -> object:
    """Status of the answer over HTTP, by the names of fsspec's implementations."""
    return getattr(error, "status", None) or getattr(error, "status_code", None)


def _explanation(address: str, error: Exception) -> tuple[str, str]:
    """What is wrong, and the remedy."""
    protocol = address.partition("://")[0].lower()
    if isinstance(error, FileNotFoundError) and not is_missing(error):
        assert isinstance(error.__cause__, Exception)
        error = error.__cause__
    if isinstance(error, ImportError):
        return _missing(protocol, error)
    if isinstance(error, FileNotFoundError) or _status(error) == 404:
        if "bucket" in str(error).lower():
            return "no such bucket", "check its name, and the endpoint"
        return "no such file or folder", "check the address"
    if type(error).__name__ in _NO_CREDENTIALS or _AZURE_UNSIGNED in str(error):
        return "no credentials", "set them up as for the store's own tools"
    if _is_refused(error):
        return f"refused for lack of rights ({_detail(address, error)})", _RIGHTS
    if _is_broken_off(error):
        return f"the connection failed or broke off ({_detail(address, error)})", _TRY_AGAIN
    if isinstance(error, ValueError) and "rotocol not known" in str(error):
        return f"addresses of the kind {protocol}:// are unknown", "name a path, s3://, gs:// ..."
    return f"cannot be reached ({_detail(address, error)})", "check the address"


def _detail(address: str, error: Exception) -> str:
    """What the error says; only its class where it may repeat a secret of the address."""
    message = scrubbed(error) if shown(address) == address else ""
    return message or type(error).__name__


def _missing(protocol: str, error: ImportError) -> tuple[str, str]:
    extra = _EXTRAS.get(protocol)
    if extra:
        remedy = f"pip install 'tb-hookview[{extra}]'"
    else:
        remedy = f"install fsspec and what it asks for ({scrubbed(error)})"
    return f"{protocol}:// needs a package that is not installed", remedy


def put(file: Path, address: str) -> None:
    """Copy a file of this machine to an address.

    Raises:
        TraceError: it cannot be written there.
    """
    store = store_of(address)
    with explained(address):
        if address.partition("://")[0].lower() not in _EXTRAS:
            # A bucket has no folders, and one that is not there is a mistake: it is not made.
            store.files.makedirs(store.path.rpartition("/")[0], exist_ok=True)
        store.files.put_file(str(file), store.path)


def open_address(address: str) -> BinaryIO:
    """Open a file for reading, from its beginning to its end.

    Raises:
        TraceError: it cannot be opened.
    """
    store = store_of(address)
    with explained(address):
        opened: BinaryIO = store.files.open(store.path, "rb")
        return opened
