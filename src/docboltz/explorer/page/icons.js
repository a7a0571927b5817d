// Signs on buttons, as lines.

import { drawing } from "./dom.js";

const LINES = {
  nearer: "M12 5v14M5 12h14",
  farther: "M5 12h14",
  whole: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  lasso: "M12 4c5 0 9 2.4 9 6s-4 6-9 6-9-2.4-9-6 4-6 9-6zM7 15c-2 1-2 4 0 4s2-2 1-3M7 19c0 1-1 2-2 2",
  view: "M4 5h16v14H4zM8 10h.01M12 14h.01M16 9h.01M15 15h.01M9 15h.01",
  theme: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  fold: "M6 9l6 6 6-6",
};

export function icon(name) {
  return drawing("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, drawing("path", { d: LINES[name] }));
}
