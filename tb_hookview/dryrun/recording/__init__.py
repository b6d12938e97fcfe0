"""What is noted of each sync: cause, line, module, autograd node."""
