"""The fixtures of recorded JAX programs."""

from tests.recorded_jax import jax_recorded, jax_run

__all__ = ["jax_recorded", "jax_run"]
