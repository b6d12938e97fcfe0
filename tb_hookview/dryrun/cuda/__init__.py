"""`torch.cuda` and its surroundings as programs see them."""
