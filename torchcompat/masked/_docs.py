"""What the functions of torch.masked say of themselves, by torch's names: `amax_docstring` and so on."""

from torchcompat._calls.absent import absences as _absences

from . import _ops

globals().update({f"{_name}_docstring": getattr(_ops, _name).__doc__ for _name in _ops.__all__})

_absences(__name__)
