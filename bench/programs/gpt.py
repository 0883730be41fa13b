"""A transformer: its forward under the JIT, then training steps. The environment says how large: see DEFAULTS."""

import os

from tinygrad import Tensor, TinyJit, nn
from tinygrad.helpers import Context

DEFAULTS = {"LAYERS": 1, "DIM": 256, "HEADS": 8, "VOCAB": 4096, "SEQ": 128, "BS": 2, "STEPS": 5}
layers, dim, heads, vocabulary, length, batch, steps = (int(os.environ.get(name, n)) for name, n in DEFAULTS.items())


def linear(inner, outer):
    return nn.Linear(inner, outer, bias=False)


class Layer:
    """Attention and a gated feed-forward, each behind a norm."""

    def __init__(self):
        self.before = [nn.RMSNorm(dim), nn.RMSNorm(dim)]
        self.attention = [linear(dim, 3 * dim), linear(dim, dim)]
        self.forward = [linear(dim, 4 * dim), linear(dim, 4 * dim), linear(4 * dim, dim)]

    def __call__(self, x):
        parts = self.attention[0](self.before[0](x)).chunk(3, dim=-1)
        q, k, v = (part.reshape(batch, -1, heads, dim // heads).transpose(1, 2) for part in parts)
        seen = q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2).reshape(batch, -1, dim)
        x = x + self.attention[1](seen)
        gate, up, down = self.forward
        h = self.before[1](x)
        return x + down(gate(h).silu() * up(h))


embedding, stack = nn.Embedding(vocabulary, dim), [Layer() for _ in range(layers)]
norm, head = nn.RMSNorm(dim), linear(dim, vocabulary)
adam = nn.optim.AdamW(nn.state.get_parameters([embedding, stack, norm, head]), lr=1e-3)
text = Tensor.randint(batch, length + 1, high=vocabulary).realize()


def model(tokens):
    x = embedding(tokens)
    for layer in stack:
        x = layer(x)
    return head(norm(x))


infer = TinyJit(lambda tokens: model(tokens).realize())
for _ in range(3):
    infer(text[:, :-1].contiguous().realize())


@TinyJit
@Context(TRAINING=1)
def train(tokens):
    adam.zero_grad()
    loss = model(tokens[:, :-1]).sparse_categorical_crossentropy(tokens[:, 1:]).backward()
    return loss.realize(*adam.schedule_step())


for _ in range(steps):
    train(text)
