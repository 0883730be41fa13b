"""What the memory of an allocator is called in a capture: sources write these names, queries find it by them."""

from __future__ import annotations

from typing import Final

SEGMENTS: Final = " segments"
"""Behind a device's name: the device whose buffers are what the allocator reserved for it."""
EVENTS: Final = " events"
"""Behind a device's name: the track with the events of its allocator."""
EXPANDABLE: Final = "expandable "
"""Before a segment's name: it is mapped in parts, and parts that touch are one segment."""
OUT_OF_MEMORY: Final = "out of memory"
"""How the name of a marker begins that says that there was none left."""
FREE_REQUESTED: Final = "free_requested"
"""How the name of an event begins that asks for a block to be freed, which may have to wait for a stream."""
