"""A conv net on random pictures, its training step under the JIT. STEPS and BS are taken from the environment."""

import os

from tinygrad import Tensor, TinyJit, nn
from tinygrad.helpers import Context, profile_marker

steps, batch = int(os.environ.get("STEPS", "50")), int(os.environ.get("BS", "16"))
pictures, labels = Tensor.rand(256, 1, 28, 28).realize(), Tensor.randint(256, high=10).realize()
convolutions = [nn.Conv2d(1, 16, 5), nn.Conv2d(16, 16, 5), nn.Conv2d(16, 32, 3)]
norms = [nn.BatchNorm(16), nn.BatchNorm(32)]
last = nn.Linear(32 * 3 * 3, 10)
adam = nn.optim.Adam(nn.state.get_parameters([convolutions, norms, last]))


def network(x):
    x = convolutions[1](convolutions[0](x).relu()).relu()
    x = convolutions[2](norms[0](x).max_pool2d()).relu()
    return last(norms[1](x).avg_pool2d(kernel_size=(2, 2), stride=3).flatten(1))


@TinyJit
@Context(TRAINING=1)
def train():
    chosen = Tensor.randint(batch, high=256)
    adam.zero_grad()
    loss = network(pictures[chosen]).sparse_categorical_crossentropy(labels[chosen]).backward()
    return loss.realize(*adam.schedule_step())


for number in range(steps):
    profile_marker(f"train @ {number}")
    train()
