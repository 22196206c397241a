"""Rental prices that a person gives: one CSV row an accelerator, provider and region.

Columns: accelerator, provider, region, per_hour (of one accelerator), currency, date, source. A
price is used as it is given and shown with its date and source wherever a cost stands on it.
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
_LIMIT_B = 4 << 20


class PriceError(GpurankError, ValueError):
    """A price list that cannot be used: says which row and what to do."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one accelerator for an hour, in ``currency``, on ``on``."""

    accelerator: str
    provider: str
    region: str
    per_hour: float
    currency: str
    on: date
    source: str

    @property
    def basis(self) -> str:
        """What stands beside a cost that was made with this price."""
        where = ", ".join(part for part in (self.provider, self.region) if part)
        return (
            f"{self.per_hour:g} {self.currency} an hour per accelerator on {self.on.isoformat()}, "
            f"{where} ({self.source})"
        )


def read_prices(path: Path) -> dict[str, Price]:
    """The prices of a file by canonical accelerator; see ``prices_of``.

    Raises:
        PriceError: the file cannot be read or used.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_LIMIT_B + 1)
        if len(data) > _LIMIT_B:
            raise PriceError(f"{path} is larger than any price list; look whether it is one")
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
        return prices_of(reader, str(path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PriceError(f"{path} cannot be read as a price list: {error}") from None


def prices_of(rows: Iterable[Mapping[str, str | None]], name: str) -> dict[str, Price]:
    """The lowest price of each accelerator.

    Args:
        rows: text by column.
        name: what the list is called in errors; rows are numbered from 2, as lines of a CSV.

    Raises:
        PriceError: a value is missing or malformed, an accelerator is not known, the currencies
            differ, or one provider and region gives two prices of an accelerator.
    """
    found: dict[str, Price] = {}
    seen: dict[tuple[str, str, str], int] = {}
    currency: tuple[str, int] | None = None
    for line, row in enumerate(rows, start=2):
        where = f"{name} line {line}"
        price = _price(row, where)
        key = (price.accelerator, price.provider.casefold(), price.region.casefold())
        if key in seen:
            raise PriceError(
                f"{where}: {price.accelerator} from {price.provider} {price.region} has a price "
                f"in line {seen[key]} already; keep one"
            )
        seen[key] = line
        if currency is not None and currency[0] != price.currency:
            raise PriceError(
                f"{where}: {price.currency}, but line {currency[1]} is in {currency[0]}; "
                "give all prices in one currency"
            )
        currency = currency or (price.currency, line)
        cheapest = found.get(price.accelerator)
        if cheapest is None or price.per_hour < cheapest.per_hour:
            found[price.accelerator] = price
    if not found:
        raise PriceError(f"{name} holds no price")
    return found


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
    from gpurank.systems.accelerators import identify_accelerator, models

    if text in models():
        return text
    match = identify_accelerator(text)
    if match.method in ("unresolved", "blank"):
        near = f"; did you mean {match.closest}?" if match.closest else ""
        raise PriceError(f"{where}: accelerator {text!r} is not known{near}")
    return str(match.values["accelerator"])


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
        raise PriceError(f"{where}: date {text!r} is not a day written as 2026-11-30") from None
