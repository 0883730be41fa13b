"""Files in object storage (`s3://…`, `gs://…`, …): listed, read, written and brought here, through pyarrow or fsspec.

Credentials are those of the surroundings: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, the machine's role;
AWS_ENDPOINT_URL and AWS_REGION name another server. A Dask worker uses its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, Final

from peephole.errors import CaptureError, PeepholeError
from peephole.model.folder import captures_folder
from peephole.model.run_tables import RUN
from peephole.model.unfinished import WorkFolder
from peephole.store.manifest import FILE

_REFUSED: Final = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|FORBIDDEN|TOKEN|credential", re.I
)
_ORIGIN: Final = "origin.url"
"""Beside a capture that was brought here: where the rest of it is."""
_BLOCK: Final = 8 << 20


def expand(url: str) -> list[str]:
    """The files that an address means: itself, those that a pattern fits, or those in a folder; a capture is one."""
    base = re.split(r"[*?\[]", url, maxsplit=1)[0]
    if base != url:
        with _opened(base.rpartition("/")[0]) as (system, path):
            found = _listing(system, path)
            pattern = path + url[len(base.rpartition("/")[0]) :]
            names = {_within(one, pattern.count("/")) for one in found}
            chosen = sorted(name for name in names if fnmatchcase(name, pattern))
        if not chosen:
            raise PeepholeError(f"Nothing fits {url}.")
        return [_scheme(url) + name for name in chosen]
    if is_capture_url(url):
        return [url]
    with _opened(url) as (system, path):
        kind = system.get_file_info(path).type.name
        if kind == "Directory":
            return sorted(_scheme(url) + one for one in _listing(system, path))
    if kind == "NotFound":
        raise PeepholeError(f"There is no {url}.")
    return [url]


def is_capture_url(url: str) -> bool:
    """Whether an address is that of a capture's folder, by its name."""
    return url.rstrip("/").endswith(".peep")


def head(url: str, most: int) -> bytes:
    """The first bytes of a file."""
    with _opened(url) as (system, path), system.open_input_stream(path) as file:
        data: bytes = file.read(most)
        return data


def there(url: str) -> bool:
    """Whether a capture is at that address, whole."""
    with _opened(f"{url.rstrip('/')}/{FILE}") as (system, path):
        return bool(system.get_file_info(path).is_file)


def fetch(url: str, into: Path) -> Path:
    """One file, copied into a folder under its own name."""
    target = into / PurePosixPath(url).name
    with _opened(url) as (system, path), system.open_input_stream(path) as source, target.open("wb") as out:
        shutil.copyfileobj(source, out, _BLOCK)
    return target


def put(folder: Path, url: str) -> None:
    """Copies a folder there; the manifest comes last, so that a capture is there whole or not at all."""
    files = sorted((one for one in folder.rglob("*") if one.is_file()), key=lambda one: (one == folder / FILE, one))
    for file in files:
        with (
            _opened(f"{url.rstrip('/')}/{file.relative_to(folder).as_posix()}") as (system, path),
            system.open_output_stream(path) as out,
            file.open("rb") as source,
        ):
            shutil.copyfileobj(source, out, _BLOCK)


def remove_where(url: str, chosen: Callable[[str], bool]) -> None:
    """Takes away the folders of a folder whose name is chosen."""
    from pyarrow import fs

    with _opened(url) as (system, path):
        for one in system.get_file_info(fs.FileSelector(path, allow_not_found=True)):
            if one.type == fs.FileType.Directory and chosen(one.base_name):
                system.delete_dir(one.path)


def fetch_folder(url: str, into: Path) -> Path:
    """A folder, copied here."""
    with _opened(url.rstrip("/")) as (system, path):
        for file in _listing(system, path):
            _copy(system, path, file[len(path) + 1 :], into)
    if not into.is_dir():
        raise PeepholeError(f"There is no {url}.")
    return into


def bring_capture(url: str) -> Path:
    """A capture in object storage, here: of a run the small tables only, its ranks when they are asked for.

    It is kept under what its manifest says, so that the second time is quick and a changed one is fetched anew.
    """
    url = url.rstrip("/")
    try:
        manifest = head(f"{url}/{FILE}", 1 << 26)
    except PeepholeError as error:
        raise CaptureError(f"{url} is not a capture, or not to be read: {error}") from None
    key = hashlib.sha256(url.encode() + b"\n" + manifest).hexdigest()[:24]
    kept = captures_folder() / "remote" / key
    name = PurePosixPath(url).name
    if not (kept / name).is_dir():
        with WorkFolder(kept, shared=True) as work, _opened(url) as (system, path):
            files = [one[len(path) + 1 :] for one in _listing(system, path)]
            run = any(one.startswith(f"{RUN}/") for one in files)
            for file in files:
                if not run or file == FILE or file.startswith(f"{RUN}/") or "/" not in file:
                    _copy(system, path, file, work.path / name)
            (work.path / _ORIGIN).write_text(url)
            try:
                work.path.rename(kept)
            except OSError:
                if not (kept / name).is_dir():
                    raise
    return kept / name


def present(folder: Path, capture: str) -> Path:
    """The path of a run's rank: where the run says, or brought here when the run itself was brought from elsewhere.

    An address that stands in a run is never followed: a run may come from a stranger.
    """
    path = Path(capture) if Path(capture).is_absolute() else folder / capture
    origin = folder.parent / _ORIGIN
    if not path.exists() and not Path(capture).is_absolute() and ".." not in path.parts and origin.is_file():
        return bring_capture(f"{origin.read_text().strip()}/{capture}")
    return path


def open_remote(url: str) -> tuple[Any, str]:
    """The file system of an address, and its path there; PeepholeError where nothing knows such addresses."""
    from pyarrow import fs

    if url.startswith("s3://"):
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        given = {"endpoint_override": endpoint, "region": region or ("us-east-1" if endpoint else None)}
        retries = fs.AwsStandardS3RetryStrategy(max_attempts=4)
        options = {key: value for key, value in given.items() if value}
        return fs.S3FileSystem(connect_timeout=10, request_timeout=60, retry_strategy=retries, **options), url[5:]
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise PeepholeError(f"{url} needs another package: pip install fsspec, and its part for this kind of address "
                            f"({error}).") from None  # fmt: skip
    except ValueError as error:
        raise PeepholeError(f"{url} is an address of no known kind ({error}).") from None
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path


@contextmanager
def _opened(url: str) -> Iterator[tuple[Any, str]]:
    """The file system and the path, with our words for what may go wrong."""
    import pyarrow as pa

    try:
        yield open_remote(url)
    except FileNotFoundError:
        raise PeepholeError(f"There is no {url}.") from None
    except (OSError, pa.ArrowException) as error:
        text = " ".join(str(error).split())
        if isinstance(error, PermissionError) or _REFUSED.search(text):
            raise PeepholeError(
                f"{url} is refused: the credentials are wrong, or do not allow it; set AWS_ACCESS_KEY_ID and "
                f"AWS_SECRET_ACCESS_KEY or AWS_PROFILE ({_cause(text)})"
            ) from None
        raise PeepholeError(f"{url} cannot be reached; is AWS_ENDPOINT_URL right? ({_cause(text)})") from None


def _cause(text: str) -> str:
    """What is to be read of an error of pyarrow's, which names the place first and the reason last."""
    return textwrap.shorten(text.rpartition("AWS Error ")[2], 200, placeholder=" …")


def _listing(system: Any, path: str) -> list[str]:
    from pyarrow import fs

    chosen = fs.FileSelector(path, allow_not_found=True, recursive=True)
    return [one.path for one in system.get_file_info(chosen) if one.is_file]


def _within(path: str, depth: int) -> str:
    """A path cut off below so many folders: a capture's folder is one thing that a pattern may fit."""
    return "/".join(path.split("/")[: depth + 1])


def _scheme(url: str) -> str:
    return url[: url.index("://") + 3]


def _copy(system: Any, base: str, file: str, into: Path) -> None:
    parts = PurePosixPath(file).parts
    if ".." in parts or PurePosixPath(file).is_absolute():
        raise CaptureError(f"{base} holds a file that is named {file!r}, outside of it.")
    target = into.joinpath(*parts)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with system.open_input_stream(f"{base}/{file}") as source, target.open("wb") as out:
        shutil.copyfileobj(source, out, _BLOCK)
