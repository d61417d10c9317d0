"""torch.utils.model_zoo: `torch.hub` under older names."""

from ..hub import load_state_dict_from_url as load_url  # noqa: F401
from ..hub import tqdm  # noqa: F401
