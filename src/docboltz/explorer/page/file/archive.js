// What `docboltz/explorer/archive.py` packed: JSON and arrays of numbers, gzipped, in base64.

const KINDS = {
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  i4: Int32Array,
  f4: Float32Array,
};

/** base64 → {content, arrays}: the JSON that was packed, and typed arrays by name. */
export async function unpack(base64) {
  const bytes = await gunzip(fromBase64(base64));
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const arrays = {};
  let begin = 4 + length;
  for (const { name, kind, length: n } of header.arrays) {
    const size = Number(kind[1]);
    const packed = bytes.subarray(begin, begin + n * size);
    const whole = inOrder(packed, n, size);
    arrays[name] = kind === "f2" ? halfFloats(new Uint16Array(whole)) : new KINDS[kind](whole);
    begin += n * size;
  }
  return { content: header.content, arrays };
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

async function gunzip(bytes) {
  if (!globalThis.DecompressionStream) {
    const message = "This browser cannot unpack the file: one of 2023 or later can.";
    throw Object.assign(new Error(message), { kind: "refused" });
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers were taken apart, all first bytes before all second ones, which gzip packs better. */
function inOrder(planes, n, size) {
  const bytes = new Uint8Array(n * size);
  for (let plane = 0; plane < size; plane++) {
    const begin = plane * n;
    for (let i = 0, to = plane; i < n; i++, to += size) bytes[to] = planes[begin + i];
  }
  return bytes.buffer;
}

/** float16, which few browsers have arrays of, as float32. */
function halfFloats(halves) {
  const table = new Float32Array(1 << 16);
  for (let bits = 0; bits < table.length; bits++) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 31) table[bits] = fraction ? NaN : sign * Infinity;
    else if (exponent === 0) table[bits] = sign * fraction * 2 ** -24;
    else table[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return Float32Array.from(halves, (bits) => table[bits]);
}
