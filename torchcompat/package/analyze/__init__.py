"""What programs use, and why packages fail."""

from .find_first_use_of_broken_modules import find_first_use_of_broken_modules as find_first_use_of_broken_modules
from .trace_dependencies import trace_dependencies as trace_dependencies
