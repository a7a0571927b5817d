"""How many frames a second the explorer's map has while it is dragged and zoomed.

    python benchmarks/frames.py MODEL --points 10000 100000 1000000
    python benchmarks/frames.py MODEL --points 1000000 --hardware    # with a graphics card

MODEL has a map. Its page is opened in Chromium as `docboltz explore` gives it, with points of the
benchmark's own in place of those of the map; a pointer drags the map in circles and a wheel zooms
in and out, and the time between the frames that the browser shows is noted. Without `--hardware`
SwiftShader renders in software, on the processor: the worst there is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np

SOFTWARE = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
WINDOW = {"width": 1200, "height": 800}

# Moves once a frame, as a person's hand would, and notes when frames come.
MOVE = """
async ({seconds, zooming}) => {
  const area = document.querySelector("canvas").parentElement;
  const box = area.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 3, box.top + box.height / 2];
  const send = (Kind, name, more) => area.dispatchEvent(new Kind(name, {
    bubbles: true, cancelable: true, clientX: x, clientY: y, pointerId: 1, button: 0, ...more}));
  area.setPointerCapture = () => {};
  if (!zooming) send(PointerEvent, "pointerdown", {});
  const times = [];
  await new Promise((done) => {
    const begin = performance.now();
    const step = (now) => {
      times.push(now);
      const t = (now - begin) / 1000;
      if (t > seconds) return done();
      if (zooming) send(WheelEvent, "wheel", {deltaY: Math.sin(3 * t) > 0 ? -30 : 30});
      else send(PointerEvent, "pointermove",
        {clientX: x + 80 * Math.sin(4 * t), clientY: y + 80 * Math.cos(4 * t)});
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  if (!zooming) send(PointerEvent, "pointerup", {});
  return times;
}
"""


def main() -> None:
    """Measure every number of points, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--points", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--hardware", action="store_true", help="let the graphics card render")
    given = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "docboltz", "serve", str(given.model), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}/"
        wait_for(address)
        print("| points | | frames a second | ms, median | 95 % |\n|---|---|---|---|---|")
        for n in given.points:
            measure(address, n, given.seconds, given.hardware)
    finally:
        server.terminate()


def wait_for(address: str) -> None:
    """Until the server answers."""
    for _ in range(300):
        try:
            urllib.request.urlopen(address, timeout=5)
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the server does not answer")


def measure(address: str, n: int, seconds: float, hardware: bool) -> None:
    """Open the page with n points, move it, and print a line for each way of moving."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("DOCBOLTZ_CHROMIUM") or shutil.which("chromium")
    arguments = ["--no-sandbox", "--headless=new", *([] if hardware else SOFTWARE)]
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(viewport=WINDOW)
        page.route(
            "**/api/map/points*",
            lambda route: route.fulfill(body=points(n), content_type="application/octet-stream"),
        )
        page.goto(address)
        page.wait_for_selector(".names a:not([hidden])", timeout=120_000)
        page.wait_for_timeout(3000)
        for zooming in (False, True):
            times = page.evaluate(MOVE, {"seconds": seconds, "zooming": zooming})
            taken = np.diff(times[5:])
            how = "zoomed" if zooming else "dragged"
            cells = f"{1000 / taken.mean():.1f} | {np.median(taken):.1f} | "
            print(f"| {n:,} | {how} | {cells}{np.quantile(taken, 0.95):.1f} |", flush=True)
        browser.close()


def points(n: int) -> bytes:
    """Columns as the server gives them: twenty clouds."""
    rng = np.random.default_rng(0)
    middle = rng.uniform(-0.8, 0.8, (20, 2))
    cloud = rng.integers(20, size=n)
    places = np.clip(middle[cloud] + rng.normal(0, 0.08, (n, 2)), -1, 1).astype("<f4")
    codes = (cloud % 6).astype("<u2")
    days = np.full(n, np.nan, "<f4")
    columns = (places[:, 0], places[:, 1], codes, codes, days)
    return b"".join(np.ascontiguousarray(column).tobytes() for column in columns)


if __name__ == "__main__":
    main()
