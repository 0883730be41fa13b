"""What a capture takes on the disk; nothing of it is opened."""

from __future__ import annotations

from pathlib import Path

from peephole.model.run_tables import RUN, RUN_TABLES
from peephole.model.tables import TABLES


def bytes_on_disk(path: Path) -> dict[str, int]:
    """The size of a capture and of each of its tables, in bytes."""
    if path.is_dir():
        files = {file.relative_to(path).as_posix(): file.stat().st_size for file in path.rglob("*") if file.is_file()}
        total = sum(files.values())
    else:
        import zipfile

        with zipfile.ZipFile(path) as archive:
            files = {entry.filename.split("/")[-1]: entry.compress_size for entry in archive.infolist()}
        total = path.stat().st_size
    sizes = {name: files[f"{name}.parquet"] for name in TABLES if f"{name}.parquet" in files}
    sizes |= {name: files[f"{RUN}/{name}.parquet"] for name in RUN_TABLES if f"{RUN}/{name}.parquet" in files}
    return {"total": total, **sizes}
