"""What is known about tinygrad's IR."""
