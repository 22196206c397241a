"""Reads a user's rental prices: one CSV row per accelerator, provider and region.

Columns: accelerator, provider, region, per_hour (of one accelerator), currency, date, source. A
price is used unchanged, and shown with its date and source beside every cost based on it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from gpurank.errors import Exit, GpurankError

COLUMNS = ("accelerator", "provider", "region", "per_hour", "currency", "date", "source")
_MAX_SIZE_B = 4 << 20


class PriceError(GpurankError, ValueError):
    """A price list that cannot be used; the message names the row and what to do."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one accelerator per hour, in ``currency``, on the day ``on``."""

    accelerator: str
    provider: str
    region: str
    per_hour: float
    currency: str
    on: date
    source: str

    @property
    def basis(self) -> str:
        """The note to show with a cost based on this price."""
        where = ", ".join(part for part in (self.provider, self.region) if part)
        return (
            f"{self.per_hour:g} {self.currency} an hour per accelerator on {self.on.isoformat()}, "
            f"{where} ({self.source})"
        )


def read_prices(path: Path) -> dict[str, Price]:
    """Reads the prices of a file by canonical accelerator; see ``lowest_prices``.

    Raises:
        PriceError: the file cannot be read or used.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_MAX_SIZE_B + 1)
        if len(data) > _MAX_SIZE_B:
            raise PriceError(f"{path} is too large to be a price list; check the path")
        text = io.StringIO(data.decode("utf-8-sig"), newline="")
        reader = csv.DictReader(text, skipinitialspace=True)
        names = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = names
        missing = [name for name in COLUMNS if name not in names]
        if missing:
            raise PriceError(
                f"{path} lacks the column {', '.join(missing)}; "
                f"a price list has {', '.join(COLUMNS)}"
            )
        return lowest_prices(reader, str(path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PriceError(f"{path} cannot be read as a price list: {error}") from None


def lowest_prices(rows: Iterable[Mapping[str, str | None]], name: str) -> dict[str, Price]:
    """Returns the lowest price of each accelerator.

    Args:
        rows: text by column.
        name: name of the list in errors; rows are numbered from 2, like lines of a CSV.

    Raises:
        PriceError: a value is missing or malformed, an accelerator is unknown, the currencies
            differ, or one provider and region has two prices of an accelerator.
    """
    prices: dict[str, Price] = {}
    line_of: dict[tuple[str, str, str], int] = {}
    currency: tuple[str, int] | None = None
    for line, row in enumerate(rows, start=2):
        where = f"{name} line {line}"
        price = _price(row, where)
        key = (price.accelerator, price.provider.casefold(), price.region.casefold())
        if key in line_of:
            raise PriceError(
                f"{where}: {price.accelerator} from {price.provider} {price.region} has a price "
                f"in line {line_of[key]} already; keep one"
            )
        line_of[key] = line
        if currency is not None and currency[0] != price.currency:
            raise PriceError(
                f"{where}: {price.currency}, but line {currency[1]} is in {currency[0]}; "
                "give all prices in one currency"
            )
        currency = currency or (price.currency, line)
        lowest = prices.get(price.accelerator)
        if lowest is None or price.per_hour < lowest.per_hour:
            prices[price.accelerator] = price
    if not prices:
        raise PriceError(f"{name} holds no price")
    return prices


def _price(row: Mapping[str, str | None], where: str) -> Price:
    text = {column: (row.get(column) or "").strip() for column in COLUMNS}
    for column in ("accelerator", "provider", "per_hour", "currency", "date", "source"):
        if not text[column]:
            raise PriceError(f"{where}: {column} is empty")
    return Price(
        accelerator=_accelerator(text["accelerator"], where),
        provider=text["provider"],
        region=text["region"],
        per_hour=_positive(text["per_hour"], where),
        currency=_currency(text["currency"], where),
        on=_day(text["date"], where),
        source=text["source"],
    )


def _accelerator(text: str, where: str) -> str:
    # Imported here because it imports polars, which choosing without prices does not need.
    from gpurank.systems.accelerators import UnknownAcceleratorError, canonical_accelerator

    try:
        return canonical_accelerator(text)
    except UnknownAcceleratorError as error:
        raise PriceError(f"{where}: {error}") from None


def _positive(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise PriceError(f"{where}: per_hour {text!r} is not a number above 0")
    return value


def _currency(text: str, where: str) -> str:
    if len(text) != 3 or not text.isalpha() or not text.isascii():
        raise PriceError(f"{where}: currency {text!r} is not a three-letter code such as USD")
    return text.upper()


def _day(text: str, where: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise PriceError(f"{where}: date {text!r} is not a date such as 2026-11-30") from None
