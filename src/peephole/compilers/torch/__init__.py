"""torch.compile: what is known about FX graphs, Inductor's decisions and Dynamo's texts."""
