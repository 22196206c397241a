"""How a page of 2,000 rows follows a hand: ``python -m tools.benchmarks.pages [--rows 2000]``.

A real headless Chromium scrolls, types, filters, sorts and drags both sliders. For each it tells
the time from the input to the frame that shows it, and the intervals between frames while scrolling
(16.7 ms is one frame of 60 Hz). Software rendering: a machine with a graphics card is faster.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

# An input, then the time until the frame after the one that drew it has begun.
_HELPERS = """
window.frame = () => new Promise((done) => requestAnimationFrame(done));
window.shown = async (act) => {
  const start = performance.now();
  act();
  await frame(); await frame();
  return performance.now() - start;
};
window.enter = (selector, value) => {
  const field = document.querySelector(selector);
  field.value = value;
  for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
};
window.entered = async (selector, values) => {
  const found = [];
  for (const value of values) found.push(await shown(() => enter(selector, String(value))));
  return found;
};
window.scrolled = async () => {
  document.documentElement.style.scrollBehavior = "auto";
  document.querySelector("#ranking-title").scrollIntoView();
  await frame(); await frame();
  const found = [];
  let before = performance.now();
  for (let step = 0; step < 90; step += 1) {
    scrollBy(0, 80);
    await frame();
    found.push(performance.now() - before);
    before = performance.now();
  }
  return found;
};
"""
_WORDS = ["z", "ze", "zet", "zeta", "zeta 1", "zeta 12", "zeta", "z", ""]
_ACTIONS = {
    "search": f"entered('#search', {json.dumps(_WORDS)})",
    "filter": """entered('[data-filter="submitter"]', ["Zeta", "Acme", ""])""",
    "sort": "entered('#sort', ['minutes', 'system', 'rank'])",
    "lambda": f"entered('#lambda', {list(range(0, 121, 12))})",
    "deadline": f"entered('#deadline', {list(range(180, -1, -20))})",
    "reset": "shown(() => document.querySelector('#reset').click()).then((time) => [time])",
    "scroll": "scrolled()",
}


_LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def measure(rows: int, width: int, height: int) -> dict[str, dict[str, float]]:
    """Milliseconds by action, for a window of this size.

    ``middle`` and ``longest`` are waits by the clock; ``busy`` is processor time of the page's own
    thread an input, which another process on the machine does not lengthen.
    """
    from browser import Browser, find
    from report_pages import page, random_entries

    from gpurank.pages.report.benchmark_page import page_html

    path = find()
    if path is None:
        raise SystemExit("no Chromium on this machine (set GPURANK_CHROMIUM to its path)")
    with tempfile.TemporaryDirectory() as folder, Browser(path) as browser:
        file = Path(folder) / "long.html"
        file.write_text(page_html(page(random_entries(rows))), encoding="utf-8")
        browser.open(file, width, height)
        found = {"load": [browser.ask(_LOADED)]}
        browser.ask(_HELPERS + "0")
        busy = {"load": browser.busy_s()}
        for name, script in _ACTIONS.items():
            before = browser.busy_s()
            found[name] = browser.ask(script)
            busy[name] = browser.busy_s() - before
    return {
        name: {
            "middle": median(times),
            "longest": max(times),
            "busy": busy[name] * 1000 / len(times),
        }
        for name, times in found.items()
    }


def main() -> None:
    """Print a line an action, or everything as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sizes = {"desktop": (1280, 900), "phone": (390, 844)}
    found = {name: measure(given.rows, *size) for name, size in sizes.items()}
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for name, actions in found.items():
        for action, times in actions.items():
            print(
                f"{name:8} {action:9}"
                + "".join(f" {key} {ms:7.1f} ms" for key, ms in times.items())
            )


if __name__ == "__main__":
    main()
