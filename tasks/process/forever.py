"""Objects that stay as long as the process: nobody looks for garbage among them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def forever() -> Iterator[None]:
    """What is made in the block stays.

    Looking for garbage in it takes a tenth of the imports, and later, in a forked child, would make
    copies of pages that are shared.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
