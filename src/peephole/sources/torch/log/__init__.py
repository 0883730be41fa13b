"""What torch.compile wrote down: TORCH_TRACE logs and the folders of TORCH_COMPILE_DEBUG, read into rows."""
