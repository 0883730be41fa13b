"""tinygrad: what its VIZ leaves behind (rewrites and profile pickles), and its running process (`attach`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from peephole.sources.base import FileFormat

if TYPE_CHECKING:  # attach loads this package inside the user's program
    from peephole.model.sink import Sink
    from peephole.sources.base import Progress

_NEAR_S: Final = 120
"""VIZ writes both files when the program ends; one that is further away in time is another run's."""


class Tinygrad:
    """Reads `rewrites.pkl` and `profile.pkl` of tinygrad 0.11 to 0.14, one or both."""

    name = "tinygrad"
    formats = (FileFormat("tinygrad's rewrites and profile (VIZ=1)", ".pkl", "a pickle of tinygrad's events"),)

    def sniff(self, head: bytes, path: Path) -> bool:
        """Any pickle that no other source knows: this one's reader says what it does not trust in it."""
        return head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")

    def read(self, paths: Sequence[Path], sink: Sink, progress: Progress) -> None:
        """Reads the files of one run; at most one of each kind."""
        from peephole.sources.tinygrad.pickle.files import read

        read(paths, sink, progress)

    def runs(self, paths: Sequence[Path]) -> list[list[Path]]:
        """One of each kind is one run, wherever they lie; of more, those that VIZ wrote beside each other."""
        kinds = [_is_list(path) for path in paths]
        if kinds.count(True) <= 1 and kinds.count(False) <= 1:
            return [list(paths)]
        found: dict[tuple[str, str, int], list[Path]] = {}
        seen: Counter[tuple[str, str, bool]] = Counter()
        for path, is_list in zip(paths, kinds, strict=True):
            tail = path.name.removeprefix("profile").removeprefix("rewrites")
            place = (str(path.parent), tail)
            found.setdefault((*place, seen[*place, is_list]), []).append(path)
            seen[*place, is_list] += 1
        return list(found.values())

    def complete(self, paths: Sequence[Path]) -> Sequence[Path]:
        """The given files and, where only one was given, the other one that VIZ wrote next to it."""
        if len(paths) != 1:
            return paths
        for one, other in (("rewrites", "profile"), ("profile", "rewrites")):
            if paths[0].name.startswith(f"{one}.pkl"):
                sibling = paths[0].with_name(other + paths[0].name.removeprefix(one))
                if self._same_run(paths[0], sibling):
                    return [paths[0], sibling]
        return paths

    def left_behind(self) -> Sequence[Path]:
        """The files of the last run under VIZ, at the place where VIZ leaves them."""
        import getpass
        import tempfile

        try:
            user = getpass.getuser()
        except (OSError, KeyError):
            return []
        folder = Path(tempfile.gettempdir())
        found = [p for p in (folder / f"{kind}.pkl.{user}" for kind in ("rewrites", "profile")) if p.is_file()]
        newest = max((path.stat().st_mtime for path in found), default=0)
        return [path for path in found if newest - path.stat().st_mtime <= _NEAR_S]

    def _same_run(self, path: Path, sibling: Path) -> bool:
        try:
            with sibling.open("rb") as file:
                near = abs(path.stat().st_mtime - sibling.stat().st_mtime) <= _NEAR_S
                return near and self.sniff(file.read(65536), sibling)
        except OSError:
            return False


def _is_list(path: Path) -> bool:
    """Whether a pickle is a list, as the profile is, and not the object that holds the rewrites."""
    import pickletools

    from peephole.sources import head_of

    try:
        names = (opcode.name for opcode, _, _ in pickletools.genops(head_of(path)))
        return next(name for name in names if name not in ("PROTO", "FRAME")) == "EMPTY_LIST"
    except (ValueError, StopIteration):
        return False


SOURCE: Final = Tinygrad()
