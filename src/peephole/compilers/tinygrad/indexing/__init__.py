"""The expressions that buffers are indexed with: terms, their simplest form, their text."""
