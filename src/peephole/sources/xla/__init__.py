"""XLA and JAX: HLO after every pass, the kernels that came out, and profiles of them."""

from peephole.sources.xla.source import XlaSource

SOURCE = XlaSource()
