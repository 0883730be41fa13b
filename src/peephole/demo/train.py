"""A small real training program: a network of three layers learns which of two spirals a point lies on.

It knows nothing of Peephole. Any tinygrad program can be recorded like this one.
"""

from __future__ import annotations

import math
import os

from tinygrad import Device, Tensor, TinyJit, nn  # noqa: TID253 - this file is a program, not part of the package
from tinygrad.helpers import Context, profile_marker  # noqa: TID253

INTERPRETED = Device.DEFAULT == "PYTHON"
STEPS = int(os.environ.get("STEPS", "12" if INTERPRETED else "80"))
ACTIVATION = os.environ.get("ACTIVATION", "relu")
POINTS, WIDTH = (32, 8) if INTERPRETED else (512, 128)


def spirals() -> tuple[Tensor, Tensor]:
    """Points on two spirals, and which of the two each lies on."""
    points, labels = [], []
    for i in range(POINTS):
        angle, arm = 3 * math.pi * (i // 2) / (POINTS // 2), i % 2
        turn = angle + arm * math.pi
        points.append([angle / 9 * math.cos(turn), angle / 9 * math.sin(turn)])
        labels.append(arm)
    return Tensor(points).realize(), Tensor(labels).realize()


class Net:
    """Three layers."""

    def __init__(self) -> None:
        self.first = nn.Linear(2, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, 2)

    def __call__(self, points: Tensor) -> Tensor:
        """The scores of both arms for each point."""
        for layer in (self.first, self.second):
            points = getattr(layer(points), ACTIVATION)()
        return self.last(points)


def main() -> None:
    """Trains and prints how the loss fell."""
    Tensor.manual_seed(1)
    points, labels = spirals()
    net = Net()
    optimizer = nn.optim.SGD(nn.state.get_parameters(net), lr=0.5, momentum=0.9)

    def step() -> Tensor:
        with Context(TRAINING=1):
            optimizer.zero_grad()
            loss = net(points).sparse_categorical_crossentropy(labels).backward()
            return loss.realize(*optimizer.schedule_step())

    train = TinyJit(step)
    profile_marker("TRAIN")
    losses = []
    for number in range(STEPS):
        profile_marker(f"step {number}")
        losses.append(train().item())
    profile_marker("EVALUATE")
    right = (net(points).argmax(axis=1) == labels).sum().item()
    profile_marker("END")
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {right} of {POINTS} points right")


if __name__ == "__main__":
    main()
