"""Profiles of XLA programs (`.xplane.pb`): planes of lines of events."""
