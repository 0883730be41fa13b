"""The tape as a picture."""
