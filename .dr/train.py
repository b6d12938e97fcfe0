import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.inner(x)
        return h[h[:, 0] > -9]


net = Net().to("cuda")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batch = torch.randn(3, 4, device="cuda")
for step in range(3):
    loss = net(batch).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
