// Points drawn by the graphics card: one call for all of them and one for those in focus. Written
// against WebGL itself: it is a page of code, and libraries that draw points either need `eval`,
// which the page's security policy forbids, or weigh a hundred times as much.

const VERTEX = `#version 300 es
in float x, y, shade;
uniform vec2 middle, scale, offset;
uniform float size;
uniform sampler2D palette;
out vec4 colour;
void main() {
  gl_Position = vec4((vec2(x, y) - middle) * scale + offset, 0.0, 1.0);
  gl_PointSize = size + 1.0;
  colour = texelFetch(palette, ivec2(int(shade), 0), 0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 colour;
uniform float opacity, size, grey;
out vec4 pixel;
void main() {
  float r = length(gl_PointCoord - 0.5) * (size + 1.0);
  float a = clamp(size * 0.5 - r + 0.5, 0.0, 1.0) * opacity;
  vec3 rgb = mix(colour.rgb, vec3(0.55), grey);
  pixel = vec4(rgb * a, a);
}`;

const FRAME = 12; // milliseconds that drawing may take in motion
const FEWEST = 10_000; // points

export class Points {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.n = 0;
    this.most = Infinity; // points of a frame in motion: fewer where there is no graphics card
    this.taken = 0; // milliseconds of a frame with all points
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => this.#restore());
    this.#begin();
  }

  /** Whether the browser can draw points at all. */
  get works() {
    return this.gl !== null;
  }

  #begin() {
    const gl = this.canvas.getContext("webgl2", { antialias: false });
    this.gl = gl;
    if (!gl) return;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.program = program;
    const names = ["middle", "scale", "offset", "size", "opacity", "grey"];
    this.uniforms = Object.fromEntries(names.map((key) => [key, gl.getUniformLocation(program, key)]));
    this.buffers = { x: gl.createBuffer(), y: gl.createBuffer(), shade: gl.createBuffer() };
    this.elements = gl.createBuffer();
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  #restore() {
    const { x, y, shade, colours, rows } = this;
    this.#begin();
    if (x) this.setPoints(x, y);
    if (shade) this.setShades(shade);
    if (colours) this.setPalette(colours);
    if (rows) this.setFocus(rows);
  }

  #fill(name, data, type) {
    const { gl } = this;
    const at = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, this.#shuffled(data), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, 1, type, false, 0, 0);
  }

  /** In an order of which every beginning is a fair sample of all points. */
  #shuffled(data) {
    const found = new data.constructor(this.n);
    for (let row = 0; row < this.n; row++) found[this.#place(row)] = data[row];
    return found;
  }

  #place(row) {
    return (row * this.stride) % this.n;
  }

  /** Positions; NaN for a document that is not on the map. */
  setPoints(x, y) {
    [this.x, this.y, this.n] = [x, y, x.length];
    this.stride = coprime(Math.max(1, Math.round(this.n * 0.618)), this.n);
    if (!this.works) return;
    const outside = (values) => values.map((value) => (Number.isNaN(value) ? 1e9 : value));
    this.#fill("x", outside(x), this.gl.FLOAT);
    this.#fill("y", outside(y), this.gl.FLOAT);
  }

  /** @param {Uint8Array} shade places in the palette */
  setShades(shade) {
    this.shade = shade;
    if (this.works) this.#fill("shade", shade, this.gl.UNSIGNED_BYTE);
  }

  /** @param {Uint8Array} colours 256 times red, green, blue, opacity */
  setPalette(colours) {
    this.colours = colours;
    const { gl } = this;
    if (gl) gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colours);
  }

  /** Documents that stand out while the others step back; null for none. */
  setFocus(rows) {
    this.rows = rows;
    const { gl } = this;
    if (!gl || !rows) return;
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.elements);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, Uint32Array.from(rows, (row) => this.#place(row)), gl.STATIC_DRAW);
  }

  /** @param {import("./camera.js").Camera} camera */
  draw(camera, { size, opacity, moving }) {
    const { gl, canvas, uniforms } = this;
    if (!gl || gl.isContextLost()) return;
    const { width, height } = canvas;
    const ratio = width / camera.width;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.n || !this.shade) return;
    gl.uniform2f(uniforms.middle, camera.x, camera.y);
    gl.uniform2f(uniforms.scale, (2 * camera.scale) / camera.width, (2 * camera.scale) / camera.height);
    gl.uniform2f(uniforms.offset, (2 * camera.middleX) / camera.width - 1, 1 - (2 * camera.middleY) / camera.height);
    gl.uniform1f(uniforms.size, size * ratio);
    gl.uniform1f(uniforms.opacity, this.rows ? opacity * 0.28 : opacity);
    gl.uniform1f(uniforms.grey, this.rows ? 0.75 : 0);
    gl.drawArrays(gl.POINTS, 0, moving ? Math.min(this.n, this.most) : this.n);
    if (!this.rows?.length) return;
    gl.uniform1f(uniforms.size, (size + 0.8) * ratio);
    gl.uniform1f(uniforms.opacity, Math.min(1, opacity + 0.2));
    gl.uniform1f(uniforms.grey, 0);
    gl.drawElements(gl.POINTS, this.rows.length, gl.UNSIGNED_INT, 0);
  }

  /** Draw twice and see how long it takes: where there is no graphics card, fewer points move. */
  measure(camera, style) {
    const { gl } = this;
    if (!gl) return;
    const timed = () => {
      const begin = performance.now();
      this.draw(camera, { ...style, moving: false });
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits until it is drawn
      return performance.now() - begin;
    };
    timed(); // in which everything is still being sent to the card
    this.taken = timed();
    this.most = this.taken > FRAME ? Math.max(FEWEST, (this.n * FRAME) / this.taken) : Infinity;
  }
}

function coprime(from, n) {
  const divisor = (a, b) => (b ? divisor(b, a % b) : a);
  while (n > 1 && divisor(from, n) !== 1) from++;
  return from;
}
