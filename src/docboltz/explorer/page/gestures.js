// Mouse, fingers and keys on the map: drag to pan, wheel or two fingers to zoom, draw a region.

const STEP = 80; // pixels of an arrow key
const NEARER = 1.35; // of a key or button
const CLICK = 5; // pixels that a pointer may move and still click

/**
 * @param {HTMLElement} area
 * @param {import("./camera.js").Camera} camera
 * @param {{drawing: () => boolean, draw: (points: [number, number][], done: boolean) => void,
 *   hover: (x: number, y: number) => void, leave: () => void, click: (x: number, y: number) => void,
 *   key: (key: string) => boolean}} on
 */
export function listen(area, camera, on) {
  const fingers = new Map(); // pointers that are down: id → [x, y]
  let outline = null; // of a region that is being drawn
  let moved = 0;

  const at = (event) => {
    const box = area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  area.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("a")) return; // names are links
    area.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, at(event));
    moved = 0;
    on.leave();
    if (fingers.size === 1 && (on.drawing() || event.shiftKey)) outline = [at(event)];
    else if (outline) stopDrawing();
  });

  area.addEventListener("pointermove", (event) => {
    const now = at(event);
    const before = fingers.get(event.pointerId);
    if (!before) return on.hover(...now);
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    fingers.set(event.pointerId, now);
    if (outline) {
      const last = outline.at(-1);
      if (Math.hypot(now[0] - last[0], now[1] - last[1]) > 4) outline.push(now);
      on.draw(outline, false);
    } else if (fingers.size === 1) {
      camera.pan(now[0] - before[0], now[1] - before[1]);
    } else {
      pinch(event.pointerId, before, now);
    }
  });

  function pinch(id, before, now) {
    const [, other] = [...fingers].find(([key]) => key !== id);
    const distance = ([x, y]) => Math.max(20, Math.hypot(x - other[0], y - other[1]));
    const middle = [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2];
    camera.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    camera.zoomAt(distance(now) / distance(before), ...middle);
  }

  function stopDrawing() {
    outline = null;
    on.draw([], false);
  }

  area.addEventListener("pointerup", (event) => {
    if (!fingers.delete(event.pointerId)) return;
    const drawn = outline;
    outline = null;
    if (drawn && drawn.length > 2) on.draw(drawn, true);
    else if (drawn) on.draw([], false);
    else if (moved < CLICK) on.click(...at(event));
  });
  area.addEventListener("pointercancel", (event) => {
    fingers.delete(event.pointerId);
    if (outline) stopDrawing();
  });
  area.addEventListener("pointerleave", () => on.leave());

  area.addEventListener("wheel", (event) => {
    event.preventDefault();
    on.leave();
    const lines = event.deltaMode === 1 ? 16 : 1; // Firefox counts in lines
    const turned = Math.max(-200, Math.min(200, event.deltaY * lines));
    camera.zoomAt(Math.exp(-turned * (event.ctrlKey ? 0.01 : 0.002)), ...at(event));
  }, { passive: false });
  area.addEventListener("dblclick", (event) => camera.zoomAt(2, ...at(event)));

  const keys = {
    ArrowLeft: () => camera.pan(STEP, 0),
    ArrowRight: () => camera.pan(-STEP, 0),
    ArrowUp: () => camera.pan(0, STEP),
    ArrowDown: () => camera.pan(0, -STEP),
    "+": () => camera.zoomAt(NEARER),
    "=": () => camera.zoomAt(NEARER),
    "-": () => camera.zoomAt(1 / NEARER),
    0: () => camera.fly(0, 0, 1),
  };
  area.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && outline) return stopDrawing();
    const action = keys[event.key];
    if (action) action();
    if (action || on.key(event.key)) event.preventDefault();
  });
}
