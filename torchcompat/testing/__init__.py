"""torch.testing: assertions that tensors are close, and tensors to test with.

>>> import torchcompat as torch
>>> torch.testing.assert_close(torch.ones(2) + 1e-7, torch.ones(2))
>>> torch.testing.make_tensor(2, 3, dtype=torch.int8, device="cpu").shape
torch.Size([2, 3])
"""

from ._comparison import assert_allclose as assert_allclose, assert_close as assert_close
from ._creation import make_tensor as make_tensor
