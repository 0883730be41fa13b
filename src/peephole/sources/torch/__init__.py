"""torch.compile: what a stock program compiles (`live`), what its logs say (`log`), and the rows of both (`rows`)."""
