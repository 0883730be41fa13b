"""Programs whose kernels are two for a reason that is known, and whole models; each text is recorded in one process."""

PROGRAMS = """
from tinygrad import Tensor, TinyJit, Variable, nn
from tinygrad.helpers import Context

PROGRAMS = []

def program(function):
    PROGRAMS.append(function)

def new(*shape):
    return Tensor.empty(*(shape or (16, 16))).realize()

@program
def copy_between():
    y = (new() + 1).to("NULL:1")
    (y * 2).realize()

@program
def copy_realized():
    y = new().to("NULL:1")
    Tensor.realize(y, y + 1)

@program
def copy_from_a_list():
    t = Tensor([1.0, 2.0, 3.0])
    (t + new(3)).realize()

@program
def copy_made_contiguous():
    y = (new() + 1).to("NULL:1").contiguous()
    (y.sum(0) + y).realize()

@program
def copy_cloned():
    y = (new() + 1).clone(device="NULL:1")
    (y * 2).realize()

@program
def rand_twice():
    a = Tensor.rand(4, 4)
    b = Tensor.rand(4, 4)
    (a + b).realize()

@program
def rand_again():
    a = Tensor.rand(4, 4)
    (a + 1).realize()

@program
def dropped_out():
    x = new()
    with Context(TRAINING=1):
        y = x.dropout(0.5)
    (y * 2).realize()

@program
def normal():
    x = Tensor.randn(8, 8)
    x.realize()

@program
def momentum():
    w = new()
    opt = nn.optim.SGD([w], lr=0.1, momentum=0.9)
    with Context(TRAINING=1):
        (w * w).sum().backward()
        opt.step()

@program
def adam():
    w = new()
    opt = nn.optim.Adam([w])
    with Context(TRAINING=1):
        (w * w).sum().backward()
        opt.step()

@program
def running_mean():
    bn = nn.BatchNorm(4)
    Tensor.realize(*nn.state.get_parameters(bn), bn.running_mean, bn.running_var)
    with Context(TRAINING=1):
        y = bn(new(2, 4, 8, 8))
    Tensor.realize(y, bn.running_mean.sum(), bn.running_var.sum())

@program
def running_mean_from_the_start():
    bn = nn.BatchNorm(4, affine=False)
    with Context(TRAINING=1):
        y = bn(new(2, 4, 8, 8))
    Tensor.realize(bn.running_mean + 1, bn.running_var + 1)

@program
def assigned():
    w, b = new(), new()
    v = b + 1
    old = w + 1
    w.assign(v)
    Tensor.realize(old, w, w.sum(1))

@program
def assigned_twice():
    w, b = new(), new()
    w.assign(w + b)
    c = w.sum(1)
    w.assign(w * 2)
    Tensor.realize(w, c, w.sum(0))

@program
def added_to():
    w = new()
    w += 1
    Tensor.realize(w, w.sum(0))

@program
def cache_of_keys():
    cache = new(2, 8, 4)
    k = new(1, 4) + 1
    cache[0, 3:4].assign(k)
    (cache[0, :4].sum(1)).realize()

@program
def cache_at_a_variable():
    cache = new(2, 8, 4)
    pos = Variable("pos", 0, 6).bind(3)
    k = new(1, 4) + 1
    cache[0, pos : pos + 1].assign(k)
    (cache[0, : pos + 1].sum(1)).realize()

@program
def cache_stored_to():
    cache = new(2, 8, 4)
    pos = Variable("pos", 0, 6).bind(3)
    k = new(1, 4) + 1
    store = cache[0, pos : pos + 1].uop.store(k.uop)
    after = Tensor(cache.uop.after(store))
    (after[0, : pos + 1].sum(1)).realize()

@program
def shards_summed():
    x = new().shard(("NULL", "NULL:1"), axis=0).realize()
    (x.sum(0) + 1).realize()

@program
def shards_gathered():
    x = new().shard(("NULL", "NULL:1"), axis=0).realize()
    ((x + 1).to("NULL") * 2).realize()

@program
def shards_assigned():
    x = new().shard(("NULL", "NULL:1"), axis=0).realize()
    x.assign(x + 1)
    Tensor.realize(x, x.sum(1))

@program
def sharded():
    x = (new() + 1).shard(("NULL", "NULL:1"), axis=0)
    (x * 2).realize()

@program
def joined():
    a, b = new(), new()
    a.cat(b).softmax(1).realize()

@program
def joined_reductions():
    a, b = new(), new()
    s = a.sum(1).cat(b.sum(1))
    (s.reshape(32, 1) * new(32, 16)).realize()

@program
def padded():
    a = new()
    s = a.sum(1, keepdim=True) + a
    s.pad(((1, 1), (1, 1))).sum(0).realize()

@program
def padded_reduction():
    s = new().sum(1)
    s.pad(((1, 1),)).reshape(18, 1).expand(18, 4).contiguous().realize()

@program
def sorted_values():
    x = new(4)
    x.sort()[0].realize()

@program
def largest():
    x = new(8)
    x.topk(2)[0].realize()

@program
def split_sum():
    x = new(1000, 1000)
    x.sum().realize()

@program
def split_mean():
    x = new(1000, 1000)
    (x.mean() * 2).realize()

@program
def split_rows():
    x = new(2, 1 << 17)
    x.max(1).realize()

@program
def normalized():
    x = new()
    x.layernorm().realize()

@program
def attention():
    q, k, v = (new(1, 2, 8, 4) for _ in range(3))
    q.scaled_dot_product_attention(k, v).realize()

@program
def transposed_onto_itself():
    w = new()
    w.assign(w.T + 1)
    w.realize()

@program
def flipped_onto_itself():
    w = new()
    w.assign(w.flip(0) * 2)
    w.realize()

@program
def contiguous():
    x = (new() + 1).contiguous()
    (x * 2).realize()

@program
def cloned():
    x = (new() + 1).clone()
    (x * 2).realize()

@program
def gradients_added():
    w = new()
    (w * 2).sum().backward()
    (w * 3).sum().backward()
    w.grad.sum(0).realize()

@program
def realized_and_read():
    a = new() + 1
    Tensor.realize(a, a.sum(0))

for function in PROGRAMS:
    function()
"""

MODELS = """
from tinygrad import Tensor, TinyJit, Variable, nn
from tinygrad.helpers import Context

# a training step as mnist's: a conv net with running means, random batches, Adam, under the JIT


class Net:
    def __init__(self):
        self.c1, self.c2, self.out = nn.Conv2d(1, 8, 5), nn.Conv2d(8, 8, 3), nn.Linear(8 * 5 * 5, 10)
        self.b1, self.b2 = nn.BatchNorm(8), nn.BatchNorm(8)

    def __call__(self, x):
        x = self.b1(self.c1(x).relu()).max_pool2d()
        return self.out(self.b2(self.c2(x).relu()).max_pool2d().flatten(1).dropout(0.5))


X, Y = Tensor.rand(64, 1, 28, 28).realize(), Tensor.randint(64, high=10).realize()
net = Net()
adam = nn.optim.Adam(nn.state.get_parameters(net))


@TinyJit
@Context(TRAINING=1)
def step():
    pick = Tensor.randint(4, high=64)
    adam.zero_grad()
    loss = net(X[pick]).sparse_categorical_crossentropy(Y[pick]).backward()
    return loss.realize(*adam.schedule_step())


for _ in range(2):
    step()

# a conv net that answers: residual blocks, strides, global pooling


class Residual:
    def __init__(self, width, out, stride):
        self.c1, self.c2 = nn.Conv2d(width, out, 3, stride, 1), nn.Conv2d(out, out, 3, 1, 1)
        self.b1, self.b2, self.short = nn.BatchNorm(out), nn.BatchNorm(out), nn.Conv2d(width, out, 1, stride)

    def __call__(self, x):
        return (self.b2(self.c2(self.b1(self.c1(x)).relu())) + self.short(x)).relu()


layers = [Residual(3, 8, 1), Residual(8, 16, 2), lambda x: x.mean((2, 3)), nn.Linear(16, 10), Tensor.log_softmax]
Tensor.empty(2, 3, 16, 16).sequential(layers).realize()

# the decode of an LLM: a cache at a variable position, a sampled token

DIM, HEADS, VOCAB, CONTEXT = 32, 4, 64, 32


class Block:
    def __init__(self):
        self.norm1, self.norm2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM, bias=False), nn.Linear(DIM, DIM, bias=False)
        self.up, self.down = nn.Linear(DIM, 2 * DIM, bias=False), nn.Linear(2 * DIM, DIM, bias=False)
        self.cache = Tensor.zeros(2, 1, HEADS, CONTEXT, DIM // HEADS).contiguous().realize()

    def __call__(self, x, start):
        b, t, _ = x.shape
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (y.reshape(b, t, HEADS, DIM // HEADS).transpose(1, 2) for y in parts)
        self.cache[:, :, :, start : start + t, :].assign(Tensor.stack(k, v))
        k, v = self.cache[0, :, :, : start + t, :], self.cache[1, :, :, : start + t, :]
        x = x + self.out(q.scaled_dot_product_attention(k, v).transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(self.up(self.norm2(x)).silu())


class Model:
    def __init__(self):
        self.embed, self.norm, self.head = nn.Embedding(VOCAB, DIM), nn.RMSNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)
        self.blocks = [Block() for _ in range(2)]

    def __call__(self, tokens, start):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, start)
        logits = self.head(self.norm(x[:, -1:]))[:, -1, :]
        noise = Tensor.rand_like(logits).maximum(1e-12).log().neg().log()
        return (logits - noise).argmax(-1, keepdim=True).realize()


model = Model()
Tensor.realize(*nn.state.get_parameters(model))
tokens = model(Tensor([[1, 2, 3, 4]]), 0)
decode = TinyJit(model.__call__)
for at in range(4, 7):
    tokens = decode(tokens.contiguous().realize(), Variable("start_pos", 1, CONTEXT - 1).bind(at))
"""

Reasons = list[tuple[int, int, str, int]]

KNOWN: dict[str, Reasons] = {
    "copy_between": [(0, 1, "device copy", 1), (1, 2, "device copy", 1)],
    "copy_realized": [(0, 1, "device copy", 1)],
    "copy_from_a_list": [(0, 1, "device copy", 1)],
    "copy_made_contiguous": [
        (0, 1, "device copy", 1),
        (1, 2, "device copy", 1),
        (1, 3, "device copy", 1),
        (2, 3, "reduce then expand", 2),
    ],
    "copy_cloned": [(0, 1, "device copy", 1), (1, 2, "device copy", 1)],
    "rand_twice": [
        (0, 3, "device copy", 1),
        (0, 6, "device copy", 1),
        (1, 2, "device copy", 1),
        (2, 3, "assign", 1),
        (2, 4, "assign", 1),
        (2, 5, "assign", 1),
        (3, 5, "write after read", 2),
        (3, 7, "explicit contiguous", 1),
        (4, 5, "assign hazard", 2),
        (4, 5, "write after read", 2),
        (5, 6, "assign", 2),
        (6, 7, "explicit contiguous", 2),
    ],
    "rand_again": [(0, 1, "assign", 1), (1, 2, "explicit contiguous", 1)],
    "dropped_out": [(0, 1, "assign", 3), (1, 2, "explicit contiguous", 3)],
    "normal": [(0, 1, "assign", 1), (1, 2, "explicit contiguous", 1)],
    "momentum": [(0, 2, "assign", 2), (1, 3, "device copy", 2), (2, 3, "assign", 5), (2, 3, "write after read", 5)],
    "adam": [
        (0, 5, "assign", 2),
        (1, 6, "assign", 2),
        (2, 7, "assign", 2),
        (3, 8, "assign", 2),
        (4, 9, "device copy", 2),
        (5, 9, "assign", 5),
        (6, 9, "assign", 5),
        (7, 9, "assign", 5),
        (7, 10, "write after read", 5),
        (8, 9, "assign", 5),
        (8, 10, "write after read", 5),
        (9, 10, "assign hazard", 5),
        (9, 10, "write after read", 5),
    ],
    "running_mean": [
        (0, 1, "readers index differently", 4),
        (0, 2, "readers index differently", 4),
        (0, 3, "readers index differently", 4),
        (1, 3, "readers index differently", 4),
        (1, 4, "readers index differently", 4),
        (2, 5, "assign", 4),
        (4, 6, "assign", 4),
    ],
    "running_mean_from_the_start": [
        (0, 3, "assign", 1),
        (1, 3, "readers index differently", 3),
        (1, 4, "readers index differently", 3),
        (2, 4, "assign", 1),
        (2, 6, "assign", 1),
        (3, 5, "assign", 3),
        (4, 6, "assign hazard", 3),
        (4, 6, "write after read", 3),
        (6, 7, "assign", 3),
    ],
    "assigned": [(0, 1, "write after read", 4), (1, 2, "assign", 4)],
    "assigned_twice": [(0, 1, "assign", 2), (0, 2, "assign", 2), (1, 2, "write after read", 4), (2, 3, "assign", 4)],
    "added_to": [(0, 1, "assign", 2)],
    "cache_of_keys": [(0, 1, "assign", 3)],
    "cache_at_a_variable": [(0, 1, "assign", 4)],
    "cache_stored_to": [(0, 1, "assign", 4)],
    "shards_summed": [(0, 1, "several devices", 2), (1, 2, "several devices", 2)],
    "shards_gathered": [
        (0, 1, "several devices", 2),
        (0, 3, "several devices", 2),
        (1, 2, "device copy", 2),
        (2, 3, "device copy", 2),
    ],
    "shards_assigned": [(0, 1, "assign", 2)],
    "sharded": [(0, 3, "device copy", 1), (1, 2, "device copy", 1), (2, 3, "device copy", 1)],
    "joined": [(0, 1, "reduce then expand", 2), (0, 2, "reduce then expand", 2), (1, 2, "reduce then expand", 2)],
    "joined_reductions": [(0, 2, "reduce then expand", 2), (1, 2, "reduce then expand", 2)],
    "padded": [(0, 1, "reduce then expand", 2)],
    "padded_reduction": [(0, 1, "reduce then expand", 1)],
    "sorted_values": [(i, i + 1, "explicit contiguous", 2) for i in range(3)],
    "largest": [(i, i + 1, "explicit contiguous", 2) for i in range(7)],
    "split_sum": [(0, 1, "split reduction", 2)],
    "split_mean": [(0, 1, "split reduction", 2)],
    "split_rows": [(0, 1, "split reduction", 2)],
    "normalized": [(0, 1, "reduce then expand", 2), (0, 2, "reduce then expand", 2), (1, 2, "reduce then expand", 2)],
    "attention": [
        (0, 1, "readers index differently", 2),
        (0, 2, "readers index differently", 2),
        (0, 3, "readers index differently", 2),
        (1, 2, "reduce then expand", 2),
        (1, 3, "reduce then expand", 2),
        (2, 3, "reduce then expand", 2),
    ],
    "transposed_onto_itself": [(0, 1, "assign hazard", 2), (0, 1, "write after read", 2)],
    "flipped_onto_itself": [(0, 1, "assign hazard", 2), (0, 1, "write after read", 2)],
    "contiguous": [(0, 1, "explicit contiguous", 1)],
    "cloned": [(0, 1, "assign", 1)],
    "gradients_added": [(0, 2, "assign", 2), (1, 2, "assign", 3), (2, 3, "assign", 3)],
    "realized_and_read": [(0, 1, "realized output", 1)],
}
"""Of each program's last schedule every boundary: the two kernels, the reason, and the line that it is blamed on,
counted from the line of `def`."""

ALLREDUCES = """
from tinygrad import Tensor, dtypes
from tinygrad.helpers import Context

def summed(count, dtype=dtypes.float):
    devices = tuple(f"NULL:{number}" for number in range(count))
    t = Tensor.empty(count, count * 64, dtype=dtype).shard(devices, axis=0).realize()
    t.sum(0).mul(2.0).contiguous().linear_with_vars()

for settings in ({"RING": 2}, {"ALL2ALL": 2}, {"RING": 0, "ALL2ALL": 0}):
    with Context(**settings):
        summed(4)
for cast in (0, 1):
    with Context(RING=0, SCACHE=0, ALLREDUCE_CAST=cast):
        summed(2, dtypes.half)
"""
