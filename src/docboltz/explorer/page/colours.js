// Colours of points: at most twenty that can be told apart, by people who see red and green alike
// too, after which they begin again; names on the map and the legend say the rest.

// Paul Tol's bright and vibrant schemes, which are made for that.
const HUES = [
  [68, 119, 170], [238, 102, 119], [34, 136, 51], [204, 187, 68], [170, 51, 119],
  [102, 204, 238], [238, 119, 51], [0, 153, 136], [116, 92, 196], [140, 109, 79],
];
// Cividis, dark to light: even steps of lightness, the same to all eyes.
const STEPS = [[0, 45, 110], [62, 80, 115], [112, 113, 121], [160, 148, 115], [208, 186, 96], [253, 231, 55]];
const NONE = 65535;
const UNKNOWN = 255; // the shade of a point without a value
const CATEGORIES = 2 * HUES.length;

const mixed = (from, to, share) => from.map((c, i) => Math.round(c + (to[i] - c) * share));

function category(i, dark) {
  const hue = HUES[i % HUES.length];
  const second = i % CATEGORIES >= HUES.length;
  if (dark) return mixed(hue, [255, 255, 255], second ? 0.55 : 0.2);
  return second ? mixed(hue, [0, 0, 0], 0.35) : hue;
}

function along(share, dark) {
  const shown = dark ? 0.12 + 0.88 * share : 0.92 * share; // the ends must stand out from the paper
  const at = Math.min(Math.max(shown, 0), 0.9999) * (STEPS.length - 1);
  return mixed(STEPS[Math.floor(at)], STEPS[Math.floor(at) + 1], at % 1);
}

export const css = (rgb) => `rgb(${rgb.join(" ")})`;

/** Colour of the i-th topic or label, for CSS. */
export const categoryColour = (i, dark) => css(i < 0 ? unknown(dark) : category(i, dark));

export const dateColour = (share, dark) => css(along(share, dark));

const unknown = (dark) => (dark ? [110, 116, 128] : [170, 174, 182]);

/** 256 colours with opacity, by shade: categories, or steps from the first day to the last. */
export function palette(by, dark) {
  const found = new Uint8Array(4 * 256);
  for (let shade = 0; shade < 256; shade++) {
    const known = by === "date" ? along(shade / 254, dark) : category(shade, dark);
    found.set([...(shade === UNKNOWN ? unknown(dark) : known), 255], 4 * shade);
  }
  return found;
}

/**
 * The shade of each point.
 * @param {{topic: Uint16Array, label: Uint16Array, day: Float32Array}} columns
 * @returns {Uint8Array}
 */
export function shades(by, columns, firstDay, lastDay) {
  if (by === "date") {
    const length = Math.max(lastDay - firstDay, 1);
    return Uint8Array.from(columns.day, (day) =>
      Number.isNaN(day) ? UNKNOWN : Math.round((254 * (day - firstDay)) / length));
  }
  const codes = by === "label" ? columns.label : columns.topic;
  return Uint8Array.from(codes, (code) => (code === NONE ? UNKNOWN : code % CATEGORIES));
}
