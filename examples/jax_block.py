"""A transformer block's training step in JAX, with a slow kernel to find and a function that is compiled twice.

    peephole run --full examples/jax_block.py
    peephole show -t 5            the kernels that took longest
    peephole origin multiply_tanh_fusion
    peephole problems             why train_step was compiled again, what holds the memory

docs/xla.md walks through it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

import peephole

WIDTH, LENGTH = 128, 64
jit: Any = jax.jit


def norm(x: jax.Array) -> jax.Array:
    """Each row with mean 0 and variance 1."""
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def attention(weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """One head over all rows."""
    q, k, v = jnp.split(x @ weights["qkv"], 3, axis=-1)
    scores = q @ k.T / jnp.sqrt(WIDTH)
    return jax.nn.softmax(scores) @ v @ weights["out"]


def block(weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Attention, then the MLP."""
    x = x + attention(weights, norm(x))
    return x + jax.nn.gelu(norm(x) @ weights["up"]) @ weights["down"]


def loss(weights: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    """How far the block is from what is wanted."""
    return ((block(weights, x) - y) ** 2).mean()


@jit  # type: ignore[untyped-decorator, unused-ignore]
def train_step(weights: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    """Weights after a step, and the loss before it."""
    value, grads = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, grads), value


def main() -> None:
    """Trains for twenty steps."""
    keys = jax.random.split(jax.random.PRNGKey(0), 6)
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    weights = {
        name: jax.random.normal(key, shape) * 0.05 for key, (name, shape) in zip(keys, shapes.items(), strict=False)
    }
    x, y = (jax.random.normal(key, (LENGTH, WIDTH)) for key in keys[4:])
    for step in range(20):
        rows = LENGTH if step < 19 else LENGTH // 2  # the last batch is smaller: train_step is compiled again
        with peephole.span("step", number=step):
            weights, value = train_step(weights, x[:rows], y[:rows])
            value.block_until_ready()
    print(f"loss {float(value):.4f}")


main()
