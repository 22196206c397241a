"""Power-law and Amdahl fits of each accelerator model's own scaling, in addition to the fleet law.

docs/method.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.optimize import least_squares

from gpurank.method.arrays import Floats
from gpurank.method.configurations import analysis_set, floats

_MINIMUM_COUNTS = 3


@dataclass(frozen=True, slots=True)
class ModelScaling:
    """Scaling of one accelerator model; field names are columns of analysis.model_scaling.

    ``power_exponent`` is b in AM = a * N^b (0 is perfect scaling). ``serial_share`` is f in
    Amdahl's T = T1 * (f + (1 - f) / N), the share of the work that is not parallel.
    ``power_error`` and ``serial_error`` are median absolute errors of ln AM, so that the two fits
    can be compared.
    """

    accelerator: str
    row_count: int
    count_low: int
    count_high: int
    power_exponent: float
    power_error: float
    serial_share: float
    serial_error: float


def model_scaling(frame: pl.DataFrame, benchmark: str) -> list[ModelScaling]:
    """Returns fits of every model that was submitted at three or more counts.

    The Universal Scalability Law is not fitted: its coherence term is zero nearly everywhere.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
    """
    rows = analysis_set(frame, benchmark).filter(pl.col("accelerator").is_not_null())
    rows = rows.select("accelerator", "accelerator_count", "accelerator_minutes")
    models = rows.partition_by("accelerator", as_dict=True, maintain_order=True)
    result = []
    for (name,), group in sorted(models.items()):
        if group["accelerator_count"].n_unique() >= _MINIMUM_COUNTS:
            result.append(_fit(name, group))
    return result


def _fit(name: str, rows: pl.DataFrame) -> ModelScaling:
    count = floats(rows, "accelerator_count")
    minutes = np.log(floats(rows, "accelerator_minutes"))
    level = float(np.median(minutes))

    def power(p: Floats) -> Floats:
        error: Floats = minutes - p[0] - p[1] * np.log(count)
        return error

    def amdahl(p: Floats) -> Floats:
        error: Floats = minutes - p[0] - np.log1p(p[1] * (count - 1))
        return error

    line = least_squares(power, [level, 0.1], loss="soft_l1", f_scale=0.1)
    bounds = ([-np.inf, 0.0], [np.inf, 1.0])
    share = least_squares(
        amdahl, [level, 1e-3], bounds=bounds, loss="soft_l1", f_scale=0.1, x_scale="jac"
    )
    return ModelScaling(
        accelerator=name,
        row_count=len(rows),
        count_low=int(count.min()),
        count_high=int(count.max()),
        power_exponent=float(line.x[1]),
        power_error=float(np.median(np.abs(power(line.x)))),
        serial_share=float(share.x[1]),
        serial_error=float(np.median(np.abs(amdahl(share.x)))),
    )
