"""The pickles that tinygrad's VIZ leaves behind, read without running anything of theirs."""
