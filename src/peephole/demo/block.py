"""A small real training program: a transformer block, attention written by hand, learns to echo what it hears.

It knows nothing of Peephole. Any program with torch.compile can be recorded like this one.
"""

# mypy: disable-error-code="misc, untyped-decorator"

from __future__ import annotations

import os

import torch  # noqa: TID253 - this file is a program, not part of the package
import torch.nn.functional as F  # noqa: TID253
from torch import nn  # noqa: TID253

STEPS = int(os.environ.get("STEPS", "12"))
ACTIVATION = os.environ.get("ACTIVATION", "relu")
WIDTH, HEADS = 64, 4


class Block(nn.Module):
    """Attention and two more layers, each around a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        """What each place takes from the others."""
        batch, places, width = x.shape
        q, k, v = (
            part.view(batch, places, HEADS, width // HEADS).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1)
        )
        weights = torch.softmax(q @ k.transpose(-2, -1) / (width // HEADS) ** 0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, places, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block."""
        x = x + self.attention(self.norm1(x))
        return x + self.down(getattr(F, ACTIVATION)(self.up(self.norm2(x))))


def main() -> None:
    """Trains for some steps and prints the loss."""
    torch.manual_seed(0)
    model = Block()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loss_of = torch.compile(lambda x, y: F.mse_loss(model(x), y))
    x = torch.randn(8, 32, WIDTH)
    y = x.roll(1, dims=1)
    for step in range(STEPS):
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 4 == 0:
            print(f"step {step:3} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
