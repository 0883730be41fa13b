"""Six small real JAX programs in one: MLP, attention, recurrent cell, convolution, a scan over layers, and a training
step of a transformer block.

python tests/jax_program.py [PROFILE_FOLDER]     XLA_FLAGS says what is dumped; the results are printed.
"""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import jax
import jax.numpy as jnp

key = jax.random.PRNGKey(0)
jit: Any = jax.jit


def mlp_loss(params: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    hidden = jnp.maximum(x @ params["w1"] + params["b1"], 0.0)
    scores = jax.nn.log_softmax(hidden @ params["w2"])
    return -jnp.mean(jnp.take_along_axis(scores, y[:, None], axis=1))


@jit  # type: ignore[untyped-decorator, unused-ignore]
def train_step(params: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    loss, grads = jax.value_and_grad(mlp_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def norm(x: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


@jit  # type: ignore[untyped-decorator, unused-ignore]
def block(w: jax.Array, x: jax.Array) -> jax.Array:
    q, k, v = jnp.split(norm(x) @ w, 3, axis=-1)
    weights = jax.nn.softmax(q @ k.T / 4.0)
    return x + weights @ v


@jit  # type: ignore[untyped-decorator, unused-ignore]
def recurrent(w: jax.Array, xs: jax.Array) -> jax.Array:
    def cell(state: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        new = jnp.tanh(x @ w + state)
        return new, new.sum()

    last, sums = jax.lax.scan(cell, jnp.zeros(w.shape[1]), xs)
    grown = jax.lax.while_loop(lambda v: v.sum() < 100.0, lambda v: v * 1.5 + 1.0, jnp.abs(last))
    return jax.lax.cond(sums.sum() > 0, lambda v: v + 1.0, lambda v: v * 2.0, grown)


@jit  # type: ignore[untyped-decorator, unused-ignore]
def conv_gradient(kernel: jax.Array, image: jax.Array) -> jax.Array:
    def energy(kernel: jax.Array) -> jax.Array:
        out = jax.lax.conv_general_dilated(image, kernel, (1, 1), "SAME")
        return (jnp.maximum(out, 0.0) ** 2).mean()

    return jax.grad(energy)(kernel)


@jit  # type: ignore[untyped-decorator, unused-ignore]
def layers(weights: jax.Array, x: jax.Array) -> jax.Array:
    def layer(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
        return x + jnp.tanh(norm(x) @ w), None

    return jax.lax.scan(layer, x, weights)[0]


@jit  # type: ignore[untyped-decorator, unused-ignore]
def transformer_step(
    weights: dict[str, jax.Array], x: jax.Array, y: jax.Array
) -> tuple[dict[str, jax.Array], jax.Array]:
    def loss(weights: dict[str, jax.Array]) -> jax.Array:
        hidden = block(weights["qkv"], x)
        out = hidden + jax.nn.gelu(norm(hidden) @ weights["up"]) @ weights["down"]
        return jnp.asarray(((out - y) ** 2).mean())

    value, grads = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, grads), value


def show(name: str, *results: jax.Array) -> None:
    """Prints results to the last bit."""
    print(name, *(hashlib.sha256(result.tobytes()).hexdigest() for result in results))


def main() -> None:
    if len(sys.argv) > 1:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        jax.profiler.start_trace(sys.argv[1], profiler_options=options)
    params = {"w1": jnp.full((20, 16), 0.1), "b1": jnp.zeros(16), "w2": jnp.full((16, 10), 0.2)}
    x, y = jax.random.normal(key, (32, 20)), jnp.arange(32) % 10
    for _ in range(3):
        params, loss = train_step(params, x, y)
    show("mlp", loss, params["w1"])
    show("block", block(jax.random.normal(key, (16, 48)), jax.random.normal(key, (8, 16))))
    show("recurrent", recurrent(jax.random.normal(key, (8, 16)), jax.random.normal(key, (12, 8))))
    kernel, image = jax.random.normal(key, (4, 3, 3, 3)), jax.random.normal(key, (1, 3, 12, 12))
    show("conv", conv_gradient(kernel, image))
    show("layers", layers(jax.random.normal(key, (4, 16, 16)), jax.random.normal(key, (8, 16))))
    some = jax.random.normal(key, (16, 48))
    weights = {"qkv": some[:8, :24], "up": some[:8, :16], "down": some[:16, :8]}
    weights, loss = transformer_step(weights, some[:4, :8], jnp.ones((4, 8)))
    show("transformer", loss, weights["qkv"])
    if len(sys.argv) > 1:
        jax.profiler.stop_trace()


main()
