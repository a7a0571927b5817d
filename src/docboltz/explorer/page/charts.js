// Small drawings of numbers; what they show is also said in words.

import { drawing } from "./dom.js";
import { percent } from "./format.js";

const [WIDTH, HEIGHT, FOOT] = [360, 96, 16];

/**
 * Shares over time as a line.
 * @param {{group: string, share: number, of: number}[]} periods
 */
export function line(periods, label) {
  const most = Math.max(...periods.map(({ share }) => share), 1e-9);
  const x = (i) => (periods.length < 2 ? WIDTH / 2 : 4 + (i * (WIDTH - 8)) / (periods.length - 1));
  const y = (share) => HEIGHT - FOOT - 4 - (share / most) * (HEIGHT - FOOT - 22);
  const at = periods.map(({ share }, i) => `${x(i).toFixed(1)},${y(share).toFixed(1)}`);
  const peak = periods.reduce((best, period) => (period.share > best.share ? period : best), periods[0]);
  const told = `${label}: from ${periods[0].group} to ${periods.at(-1).group}, most in ${peak.group} (${percent(peak.share)})`;
  const caption = (i, anchor) =>
    drawing("text", { x: i ? WIDTH - 2 : 2, y: HEIGHT - 2, "text-anchor": anchor }, periods.at(i ? -1 : 0).group);
  const dots = periods.map(({ group, share, of }, i) =>
    drawing("circle", { cx: x(i), cy: y(share), r: periods.length > 40 ? 1.5 : 3 },
      drawing("title", {}, `${group}: ${percent(share)} of ${of}`)));
  return drawing("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": told },
    drawing("path", { class: "axis", d: `M0 ${HEIGHT - FOOT} H${WIDTH}` }),
    drawing("path", { class: "area", d: `M${x(0)},${HEIGHT - FOOT} L${at.join(" L")} L${x(periods.length - 1)},${HEIGHT - FOOT} Z` }),
    drawing("polyline", { points: at.join(" ") }),
    ...dots, caption(0, "start"), caption(1, "end"),
    drawing("text", { x: 2, y: 10, "text-anchor": "start" }, `up to ${percent(peak.share)}`));
}
