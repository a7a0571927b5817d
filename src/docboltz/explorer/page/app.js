// What the page knows, and which view an address shows.

import { amend, go, here, mapOnly, parse } from "./address.js";
import { categoryColour } from "./colours.js";
import { button, element } from "./dom.js";
import { showAsk, showDocument } from "./document_view.js";
import { counted } from "./format.js";
import { legend } from "./legend.js";
import { MapView } from "./map.js";
import { Panel } from "./panel.js";
import { shapeText, showRegion } from "./region_view.js";
import { showSearch, showSimilar } from "./results_view.js";
import { searchField, tools } from "./controls.js";
import { isDark, onTheme } from "./theme.js";
import { showTopic } from "./topic_view.js";
import { showTopics } from "./topics_view.js";

const AGAIN = 1000; // milliseconds until it is asked again how far the map is
const CHANGED = "The collection has changed: the map and its topics were loaded anew.";
const REFUSED = "The topics have changed meanwhile, so nothing was changed. These are the topics now.";
const NONE = 65535;
const NUMBERED = 10; // hits with their numbers on the map; the others are dots

/** The tab and the view of each kind of address. */
const VIEWS = {
  topics: ["topics", showTopics],
  topic: ["topics", showTopic],
  search: ["results", showSearch],
  similar: ["results", showSimilar],
  ask: ["results", showAsk],
  document: ["document", showDocument],
  region: ["region", showRegion],
};

export class App {
  constructor(source) {
    this.source = source;
    this.panel = new Panel(document.getElementById("panel"));
    this.topics = [];
    this.picked = null; // code of the topic or label that was picked in the legend
    this.emphasis = null; // rows that the view lets stand out
    this.visited = {}; // the last address of each tab
    this.by = {}; // topics by label and by date
    this.draft = null; // a name that is being typed: it outlives the view when that is shown anew
    this.mapAsked = 0;
    this.mapReady = new Promise((resolve) => (this.mapIsReady = resolve));
    this.map = new MapView(document.querySelector("#map .area"), this, {
      moved: () => this.#keepPlace(),
      picked: (row) => this.#open(row),
      drawn: (shape) => this.#takeShape(shape),
      key: (key) => /^v$/i.test(key) && (this.takeView(), true),
    });
    this.controls = tools(this);
    this.search = searchField(this);
    for (const tab of this.panel.tabs) tab.addEventListener("click", () => this.#toTab(tab.dataset.tab));
    onTheme(() => this.collection && this.#recolour());
    addEventListener("hashchange", (event) => this.#route(event));
    addEventListener("focus", () => this.#catchUp()); // back from a shell, where something may have been changed
  }

  /** Show the collection, then the map as soon as there is one. */
  async start() {
    this.search.show(here());
    return this.refresh();
  }

  /** The first state; its points, which may be many, come after the view. */
  async #begin() {
    this.#take(await this.source.state({ points: false }));
    this.#loadMap();
  }

  /** Let everything that is shown be of one state: that which `source.state()` gave. */
  #take({ collection, topics, map, columns }) {
    this.source.build = collection.build;
    Object.assign(this, { collection, topics, legendOf: map, by: {}, picked: null, emphasis: null, marks: null });
    if (this.columns && !columns) this.mapReady = new Promise((resolve) => (this.mapIsReady = resolve));
    const first = columns && !this.columns;
    this.columns = columns;
    this.panel.onMap = () => {};
    this.map.setColumns(columns);
    this.#title();
    this.controls.colours(collection);
    if (!columns) return this.#withoutMap();
    this.mapAsked++; // whoever waits for a map waits for another
    this.#mapSays(this.map.points.works ? "" : "This browser draws no points: it has no WebGL 2. Everything else works.");
    if (first) {
      this.map.resize();
      this.#takePlace(here().query, false);
    }
    this.#recolour();
    this.mapIsReady();
    requestAnimationFrame(() => (document.documentElement.dataset.map = "ready")); // it is painted
  }

  /** Nothing of a map before stays in sight. */
  #withoutMap() {
    delete document.documentElement.dataset.map;
    this.map.setTopics([]);
    this.map.mark([]);
    document.querySelector(".legend-body").replaceChildren();
  }

  /**
   * Take up the collection as it is now, and show the view anew; whoever asks meanwhile waits for the same.
   * @param {{said?: string, notice?: string}} told
   */
  renew(told = { notice: CHANGED }) {
    const renewed = async () => {
      this.#take(await this.source.state());
      if (!this.columns) this.#loadMap();
      this.refresh({ ...told, renewed: true }); // not awaited: it may wait for the map
    };
    this.renewing ??= renewed().finally(() => (this.renewing = null));
    return this.renewing;
  }

  async #catchUp() {
    if (!this.collection) return;
    const { build } = await this.source.collection().catch(() => this.collection);
    if (build !== this.collection.build) this.renew().catch(() => {});
  }

  /** After an error of something that nobody waits for: only a change of the collection matters. */
  overtaken(error) {
    if (error.kind === "changed") this.renew().catch(() => {}); // the panel says when a server stops
    return null;
  }

  #title() {
    const { name, documents, remark } = this.collection;
    const shown = name || "Documents";
    document.title = `${shown} · docboltz`;
    document.querySelector(".masthead h1").replaceChildren(element("bdi", {}, shown));
    const topics = this.#leaves().length;
    const facts = [counted(documents, "document"), counted(topics, "topic")];
    document.querySelector(".facts").textContent = [...facts, ...(remark ? [remark] : [])].join(" · ");
  }

  // ---- the map ----

  /** What of the window lies under the panel. */
  insets() {
    const box = document.getElementById("panel").getBoundingClientRect();
    const wide = matchMedia("(min-width: 800px)").matches;
    if (wide) return { left: 0, right: innerWidth - box.left, top: 0, bottom: 0 };
    return { left: 0, right: 56, top: 56, bottom: Math.max(0, document.getElementById("map").clientHeight - box.top) };
  }

  /** Boxes of the cards that lie over the map. */
  covered() {
    const cards = [...document.querySelectorAll("#map > .card:not([hidden])")];
    return cards.map((card) => card.getBoundingClientRect()).map((box) => [box.left, box.top, box.right, box.bottom]);
  }

  /** Wait for the map; with it comes all else of its state, of which topics have places only now. */
  async #loadMap() {
    const asked = ++this.mapAsked;
    let [{ collection }, state] = [this, null];
    try {
      while (!state?.columns) {
        while (!collection.has_map) {
          this.#mapSays(`The map is being made: ${Math.round(100 * (collection.map_progress ?? 0))} %`);
          await new Promise((resolve) => setTimeout(resolve, AGAIN));
          collection = await this.source.collection();
          if (asked !== this.mapAsked) return;
        }
        state = await this.source.state();
        collection = state.collection;
        if (asked !== this.mapAsked) return;
      }
    } catch (error) {
      if (asked === this.mapAsked) this.#mapSays(`The map is missing. ${error.message}`, () => this.#loadMap());
      return;
    }
    const [same, onMap] = [unplaced(state) === unplaced(this), this.panel.onMap];
    this.#take(state);
    if (!same) return void this.refresh({ notice: CHANGED });
    this.panel.onMap = onMap; // what is shown stays: only the map is new
    onMap();
  }

  #mapSays(text, again) {
    const message = document.querySelector(".map-message");
    message.hidden = !text;
    message.replaceChildren(text, again ? button("Retry", again) : "");
  }

  get colourBy() {
    const asked = here().query.color ?? "topic";
    const there = { label: this.collection?.has_labels, date: this.collection?.has_dates };
    return Object.hasOwn(there, asked) && there[asked] ? asked : "topic";
  }

  colourWith(by) {
    this.picked = null;
    amend({ color: by });
    this.#recolour();
  }

  #recolour() {
    if (!this.columns) return;
    const by = this.colourBy;
    this.shownBy = by;
    this.controls.choose(by);
    this.map.colour(by, isDark(), this.legendOf);
    this.map.setTopics(this.topics);
    this.#legend();
    this.#focus();
  }

  #legend() {
    const by = this.colourBy;
    const codes = by === "label" ? this.columns.label : this.columns.topic;
    const names = by === "label" ? this.legendOf.labels : this.legendOf.topics.map((t) => this.topicName(t));
    const sizes = new Uint32Array(names.length);
    for (const code of codes) if (code < sizes.length) sizes[code]++;
    const entries = names.map((name, code) => ({ name, code, documents: sizes[code] })).filter((each) => each.documents);
    const { first_day: firstDay, last_day: lastDay } = this.legendOf;
    const onpick = (code) => {
      this.picked = code;
      this.#legend();
      this.#focus();
    };
    const shown = legend({ by, entries, firstDay, lastDay, dark: isDark(), picked: this.picked, onpick });
    const body = document.querySelector(".legend-body");
    const at = [...body.querySelectorAll("button")].indexOf(document.activeElement);
    body.replaceChildren(...shown);
    if (at >= 0) body.querySelectorAll("button")[at]?.focus();
    this.map.cover();
  }

  /**
   * Let the documents of a view stand out on the map, with marks for hits.
   * @param {{row: number}[]} hits
   * @param {{x: number, y: number, text: string, kind: string}[]} more places to mark
   * @param {ArrayLike<number>|null} rows
   * @param {number|null} topic to be named before all others
   */
  emphasise(hits, more = [], rows = null, topic = null) {
    this.picked = null;
    this.emphasis = rows ?? (hits.length ? hits.map((hit) => hit.row) : null);
    this.marks = [hits, more];
    this.map.encircle(-1);
    this.map.outline([]);
    this.map.names.prefer(topic);
    this.#focus();
    if (this.columns) this.#legend();
  }

  #focus() {
    const [hits, more] = this.marks ?? [[], []];
    const numbered = hits.map((hit, i) => {
      const [text, kind] = i < NUMBERED ? [String(i + 1), "found"] : ["", "found far"];
      return { ...this.map.placeOf(hit.row), text, kind };
    }).reverse();
    this.map.mark([...numbered, ...more]);
    this.map.focus(this.picked === null ? this.emphasis : this.#rowsOfCode(this.picked));
  }

  #rowsOfCode(code) {
    const codes = this.colourBy === "label" ? this.columns.label : this.columns.topic;
    return rowsWhere(codes, (each) => each === code);
  }

  /** @param {Set<number>} own numbers of topics */
  rowsOfTopics(own) {
    if (!this.columns) return [];
    const codes = new Set(this.legendOf.topics.flatMap((topic, code) => (own.has(topic) ? [code] : [])));
    return rowsWhere(this.columns.topic, (code) => code !== NONE && codes.has(code));
  }

  #keepPlace() {
    const { x, y, zoom } = this.map.camera;
    amend({ x: x.toFixed(5), y: y.toFixed(5), zoom: zoom.toFixed(3) });
  }

  #takePlace({ x, y, zoom }, smoothly = true) {
    const [to, camera] = [[Number(x), Number(y), Number(zoom)], this.map.camera];
    if (x === undefined || !to.every(Number.isFinite)) return smoothly || camera.set(0, 0, 1);
    if (smoothly) camera.fly(...to);
    else camera.set(...to);
  }

  async #open(row) {
    const found = await this.attempt(() => this.map.hover.document(row));
    if (found) go("document", found.id);
  }

  #takeShape(shape) {
    this.controls.lasso(false);
    go("region", null, { shape: shapeText(shape) });
  }

  takeView() {
    this.#takeShape(this.map.camera.seen());
  }

  // ---- topics ----

  #leaves() {
    const parents = new Set(this.topics.map((topic) => topic.parent));
    return this.topics.filter((topic) => !parents.has(topic.topic));
  }

  /** Numbers of the topics without finer ones that a topic is made of. */
  leavesOf(topic) {
    const below = this.topics.filter((each) => each.parent === topic);
    return new Set(below.length ? below.flatMap((each) => [...this.leavesOf(each.topic)]) : [topic]);
  }

  topicName(topic) {
    if (topic === null || topic === undefined) return "no topic";
    return this.topics.find((each) => each.topic === topic)?.name ?? `topic ${topic}`;
  }

  colourOf(topic) {
    return categoryColour(this.legendOf.topics.indexOf(topic), isDark());
  }

  async topicsBy(by) {
    this.by[by] ??= await this.source.topicsBy(by);
    return this.by[by];
  }

  /** Change topics, show them as they are now, and tell whether they were changed. */
  async change(action, said) {
    const done = await this.attempt(action, REFUSED);
    if (!done) return false;
    this.draft = null;
    await this.renewing?.catch(() => {}); // of a state before the change
    await this.attempt(() => this.renew({ said }).then(() => true));
    return true;
  }

  /** What an action gives, or null after saying why it failed, or showing the collection as it is now. */
  async attempt(action, notice = CHANGED) {
    try {
      return await action().catch((error) => {
        if (error.kind !== "changed") throw error;
        return this.renew({ notice }).then(() => null);
      });
    } catch (error) {
      const [tab, view] = this.#viewOf(here());
      let told = false; // a retry shows the view again
      this.panel.show(tab, () => (told ? view(this, here()) : ((told = true), Promise.reject(error))));
      return null;
    }
  }

  // ---- addresses ----

  #viewOf({ view }) {
    return Object.hasOwn(VIEWS, view) ? VIEWS[view] : VIEWS.topics;
  }

  #route(event) {
    const address = here();
    if (location.hash === "#panel") return this.#skip(event);
    this.draft = null;
    // A link says nothing of the map, which stays as it is.
    amend({ ...mapOnly(parse(new URL(event.oldURL).hash).query), ...address.query });
    if (this.columns) this.#takePlace(address.query);
    if (this.columns && this.colourBy !== this.shownBy) this.#recolour();
    this.search.show(address);
    return this.refresh();
  }

  #skip(event) {
    history.replaceState(null, "", new URL(event.oldURL).hash || "#/topics");
    document.getElementById("panel").focus();
  }

  #remember(tab) {
    this.visited[tab] = location.hash;
  }

  /**
   * Show the view of the address. If the collection has changed meanwhile it is taken up first, but
   * not twice in a row: where it keeps changing, that is said.
   * @param {{said?: string, notice?: string, renewed?: boolean}} told
   */
  async refresh({ said = "", notice = "", renewed = false } = {}) {
    const address = here();
    const [tab, view] = this.#viewOf(address);
    this.#remember(tab);
    return this.panel.show(tab, async () => {
      try {
        if (!this.collection) await this.#begin();
        const shown = await view(this, address);
        const nodes = notice ? [element("p", { class: "problem" }, notice), ...shown.nodes] : shown.nodes;
        return { ...shown, nodes, said: [notice || said, shown.said].filter(Boolean).join(" ") };
      } catch (error) {
        if (error.kind === "changed" && !renewed) await this.renew();
        renewed = false; // whoever presses Retry wants it again
        throw error; // seen by nobody where the view is shown anew
      }
    });
  }

  #toTab(tab) {
    const first = { topics: "topics", results: "search", document: "document", region: "region" };
    const visited = this.visited[tab];
    if (visited && visited !== location.hash) location.hash = visited;
    else if (!visited || tab === "topics") go(first[tab]); // from one topic to all of them
  }
}

/** What tells a collection and its topics from others, wherever they lie on a map. */
const unplaced = ({ collection, topics }) =>
  JSON.stringify([collection.documents, topics.map((topic) => ({ ...topic, x: null, y: null }))]);

function rowsWhere(codes, wanted) {
  const found = [];
  for (let row = 0; row < codes.length; row++) if (wanted(codes[row])) found.push(row);
  return found;
}
