"""Tables of the layers of two networks: sizes, numbers of parameters, operations, memory."""

import torch
from torchinfo import summary

PACKAGES = ("torchinfo",)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
        self.lstm, self.last = torch.nn.LSTM(8, 6, batch_first=True), torch.nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        self.lstm(y.flatten(2).transpose(1, 2))
        return self.last(y.mean((2, 3)))


COLUMNS = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable")
CASES = {"own": lambda: str(summary(Net(), (2, 3, 8, 8), col_names=COLUMNS, depth=3, verbose=0)).splitlines(),
         "encoder": lambda: str(summary(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), input_data=torch.randn(1, 4, 8),
                                        verbose=0)).splitlines()}
