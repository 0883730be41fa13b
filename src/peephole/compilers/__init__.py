"""One folder per compiler: what is known about its IR, on top of the replay engine."""
