"""What functorch had before it was sure of it."""

from __future__ import annotations

from ....func import functionalize as functionalize, hessian as hessian, jacfwd as jacfwd, jvp as jvp
from ....func import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from ...._calls.absent import on_demand as _on_demand
from ...apis import chunk_vmap as chunk_vmap

_on_demand(__name__)
