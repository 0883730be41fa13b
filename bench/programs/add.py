"""The least that compiles: two vectors of three numbers are added."""

from tinygrad import Tensor

(Tensor.empty(3) + Tensor.empty(3)).realize()
