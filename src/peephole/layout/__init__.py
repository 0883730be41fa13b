"""Pure geometry."""
