"""Files that a recorded program's own tools write into the capture, and which are read when it is sealed.

NAME.peep/left/SOURCE/PID/…
"""

from __future__ import annotations

from typing import Final

LEFT: Final = "left"
"""The folder of a capture that they lie in, one for each source."""

READER: Final = "peephole.sources.{source}.recorded"
"""The module whose `read_left(folder, sink, begin)` hands over the rows of what one process left; times count from
`begin`. By name, since the store knows no source."""
