"""An LLM's decode in small: a transformer with a KV cache, one token at a time under the JIT, at a symbolic position.

    DEV=CPU python bench/decode.py          prints one JSON object: ms of CPU a token once the JIT is warm

LAYERS, DIM, TOKENS and WARM come from the environment.
"""

from __future__ import annotations

import json
import os
import time

from tinygrad import Tensor, TinyJit, UOp, nn

LAYERS, DIM, HEADS = int(os.getenv("LAYERS", "8")), int(os.getenv("DIM", "256")), 4
TOKENS, WARM, VOCAB = int(os.getenv("TOKENS", "260")), int(os.getenv("WARM", "20")), 256
LONGEST = TOKENS + 1


class Block:
    """Attention over what came before, and two layers."""

    def __init__(self) -> None:
        self.norm1, self.norm2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM, bias=False), nn.Linear(DIM, DIM, bias=False)
        self.up, self.down = nn.Linear(DIM, 4 * DIM, bias=False), nn.Linear(4 * DIM, DIM, bias=False)
        self.cache = Tensor.zeros(2, 1, LONGEST, HEADS, DIM // HEADS).contiguous().realize()

    def __call__(self, x: Tensor, at: UOp) -> Tensor:
        """The block's output for one token at that position."""
        q, k, v = (part.reshape(1, 1, HEADS, DIM // HEADS) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        self.cache[:, :, at : at + 1].assign(Tensor.stack(k, v))
        keys, values = self.cache[0, :, : at + 1], self.cache[1, :, : at + 1]
        q, keys, values = (part.transpose(1, 2) for part in (q, keys, values))
        x = x + self.out(q.scaled_dot_product_attention(keys, values).transpose(1, 2).reshape(1, 1, DIM))
        return x + self.down(self.up(self.norm2(x)).silu())


class Model:
    """Tokens in, the next one out."""

    def __init__(self) -> None:
        self.embed, self.norm = nn.Embedding(VOCAB, DIM), nn.RMSNorm(DIM)
        self.blocks = [Block() for _ in range(LAYERS)]
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def __call__(self, token: Tensor, at: UOp) -> Tensor:
        """The most likely token after this one."""
        x = self.embed(token)
        for block in self.blocks:
            x = block(x, at)
        return self.head(self.norm(x)).argmax(axis=-1).realize()


def main() -> None:
    Tensor.manual_seed(7)
    model = Model()
    Tensor.realize(*nn.state.get_parameters(model))
    step = TinyJit(model.__call__)
    position = UOp.variable("start_pos", 0, TOKENS)
    token, tokens = Tensor([[1]]).realize(), []
    begun = began = 0.0
    for at in range(TOKENS):
        if at == WARM:
            begun, began = time.process_time(), time.perf_counter()
        token = step(token, position.bind(at))
        tokens.append(token.item())
    cpu, wall = ((now - then) * 1e3 / (TOKENS - WARM) for now, then in
                 ((time.process_time(), begun), (time.perf_counter(), began)))  # fmt: skip
    print(json.dumps({"cpu_ms": round(cpu, 3), "wall_ms": round(wall, 3), "sum": sum(tokens)}))


if __name__ == "__main__":
    main()
