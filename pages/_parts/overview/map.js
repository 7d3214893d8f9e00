// The convergence map: draws a scene that the server has laid out (core/questions/closeness.py).
const NS = "http://www.w3.org/2000/svg", R = 270;
const SECONDS = 3.8;
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function make(parent, tag, attributes = {}, text) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function star(radius) {
  const corners = Array.from({ length: 10 }, (_, corner) => {
    const [angle, length] = [-Math.PI / 2 + corner * Math.PI / 5, radius * (corner % 2 ? 0.42 : 1)];
    return [length * Math.cos(angle), length * Math.sin(angle)];
  });
  return `M${corners.join("L")}Z`;
}

const KEYS = { ring: "ring", rim: "ring rim", dot: "full", hollow: "hollow" };
const set = (element, name, number) => element.setAttribute(name, number.toFixed(1));

// Where a model is at a share of its training, between its checkpoints
function distance(path, share) {
  const next = path.findIndex(([at]) => at >= share);
  if (next < 0) return path.at(-1)[1];
  if (next === 0) return path[0][1];
  const [[from, near], [to, far]] = [path[next - 1], path[next]];
  return near + (far - near) * (share - from) / (to - from);
}

// The middle of a text next to an arc, inside if it can be, where it covers least; taken: middles
// and half sizes
function freeSpot(radius, first, last, [wide, high], taken) {
  let best = [0, 0], least = Infinity;
  for (const side of [-1, 1]) {
    for (let angle = first; angle < last; angle += 0.05) {
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      const far = radius + side * (Math.abs(cos) * wide + Math.abs(sin) * high + 3);
      const [x, y] = [far * cos, far * sin];
      const met = taken.filter(([at, up, across, tall]) =>
        Math.abs(at - x) < across + wide && Math.abs(up - y) < tall + high).length;
      const cost = met + 100 * (Math.abs(x) + wide > 335);
      if (cost < least) [best, least] = [[x, y], cost];
    }
  }
  return best;
}

class ConvergenceMap {
  constructor(root, send) {
    this.root = root;
    this.send = send;
    this.share = 1;
    this.find = (name) => root.querySelector(`.${name}`);
    this.slider = this.find("share");
    this.slider.oninput = () => { this.stop(); this.move(this.slider.value / 100); };
    this.find("play").onclick = () => this.play();
    root.querySelector(".map").addEventListener("keydown", (event) => this.press(event));
  }

  draw(data) {
    this.data = data;
    this.find("keys").replaceChildren(...data.metrics.map((metric, index) => this.button(metric, index)));
    const same = JSON.stringify(data.scene);
    if (same !== this.drawn) {
      this.drawn = same;
      this.drawMap(data.scene);
      this.find("legend").replaceChildren(...data.scene.keys.map(([symbol, text]) => this.key(symbol, text)));
      this.move(this.share);
    }
    this.ring(data.selected);
  }

  button({ id, title, shown }, index) {
    const button = document.createElement("button");
    button.textContent = title;
    button.title = `Key ${index + 1}`;
    button.setAttribute("aria-pressed", shown);
    button.onclick = () => this.send("metric", id);
    return button;
  }

  drawMap({ center, rim, rings, sectors, levels, marks }) {
    const svg = this.find("canvas");
    svg.replaceChildren();
    this.shown = null;
    for (const [radius, text] of rings) {
      make(svg, "circle", { r: R * radius, class: "ring" });
      make(svg, "text", { x: 3, y: R * radius - 4, class: "soft" }, text);
    }
    make(svg, "circle", { r: R, class: "ring rim" });
    make(svg, "text", { x: 3, y: -R - 5, class: "soft" }, rim);
    for (const [name, color, angle] of sectors) {
      const [x, y] = [(R + 26) * Math.cos(angle), (R + 26) * Math.sin(angle)];
      const anchor = Math.abs(x) < 60 ? "middle" : x > 0 ? "start" : "end";
      const most = innerWidth > 640 ? Math.abs(x) : 340 - 18 * name.length;  // a phone would cut it
      const look = { x: Math.min(Math.max(x, -most), most), y: y + 4, class: "sector", "text-anchor": anchor, style: `fill:${color}` };
      make(svg, "text", look, name.toUpperCase());
    }
    const letter = innerWidth > 640 ? 15 : 20;
    const taken = marks.map((mark) => {
      const radius = R * mark.path.at(-1)[1];
      return [radius * Math.cos(mark.angle), radius * Math.sin(mark.angle), mark.size, mark.size];
    });
    taken.push(...rings.map(([radius]) => [20, R * radius - 10, 20, letter / 2]));
    for (const [distance, first, last, name] of levels) {
      const radius = R * distance, at = (far, angle) => [far * Math.cos(angle), far * Math.sin(angle)];
      const arc = [radius, radius, 0, Number(last - first > Math.PI), 1, ...at(radius, last)];
      make(svg, "path", { d: `M${at(radius, first)}A${arc}`, class: "level" });
      const size = [0.26 * letter * name.length, 0.6 * letter];
      const [x, y] = freeSpot(radius, first, last, size, taken);
      taken.push([x, y, ...size]);
      make(svg, "text", { x, y: y + 5, class: "soft", "text-anchor": "middle" }, name);
    }
    const middle = make(svg, "path", { d: star(12), class: "star" });
    make(middle, "title", {}, center);
    this.chords = make(svg, "g");
    const trails = make(svg, "g"), dots = make(svg, "g");
    this.names = make(svg, "g", { class: "names" });
    this.card = make(svg, "g", { class: "card" });
    this.marks = new Map();
    for (const mark of marks) {
      const trail = mark.path.length > 1 &&
        make(trails, "line", { class: "trail", style: `stroke:${mark.color}` });
      const dot = this.dot(dots, mark);
      const label = mark.labeled && make(this.names, "text", {}, mark.title);
      this.marks.set(mark.id, { ...mark, trail, label, dot });
    }
    // by sector and inwards: the order of the arrow keys
    this.order = [...this.marks.values()].sort((a, b) => a.angle - b.angle);
    this.order[0]?.dot.setAttribute("tabindex", 0);
  }

  dot(parent, mark) {
    const fill = mark.hollow ? `fill:var(--paper);stroke:${mark.color}` : `fill:${mark.color}`;
    const dot = make(parent, "circle", {
      r: mark.size, class: "dot", style: fill, role: "button", tabindex: -1, "aria-pressed": false,
      "aria-label": `${mark.title}: ${mark.lines.join(", ")}`, "data-model": mark.id,
    });
    dot.onmouseenter = dot.onfocus = () => this.show(mark.id);
    dot.onmouseleave = dot.onblur = () => this.hide();
    dot.onclick = () => this.send("picked", mark.id);
    return dot;
  }

  key(symbol, text) {
    const line = document.createElement("div");
    const svg = make(line, "svg", { viewBox: "-10 -9 20 18", width: 20, height: 18, "aria-hidden": true });
    if (symbol === "star") make(svg, "path", { d: star(8), class: "star" });
    else if (symbol === "trail") make(svg, "line", { x1: -9, x2: 9, class: "trail", stroke: "currentColor" });
    else if (symbol === "level") make(svg, "line", { x1: -9, x2: 9, class: "level" });
    else make(svg, "circle", { r: symbol === "dot" || symbol === "hollow" ? 5 : 7, class: KEYS[symbol] });
    line.append(text);
    return line;
  }

  // Show the state at a share of every training
  move(share) {
    this.share = share;
    this.slider.value = 100 * share;
    this.find("when").textContent = share >= 1 ? "end of training" : `${Math.round(100 * share)}%`;
    for (const mark of this.marks.values()) {
      const [cos, sin] = [Math.cos(mark.angle), Math.sin(mark.angle)];
      const radius = R * distance(mark.path, share);
      [mark.x, mark.y] = [radius * cos, radius * sin];
      set(mark.dot, "cx", mark.x);
      set(mark.dot, "cy", mark.y);
      if (mark.path.length === 1 && !mark.hollow) mark.dot.style.opacity = 0.25 + 0.75 * share * share;
      if (mark.trail) {  // all of it lies on one ray
        const passed = mark.path.filter(([at]) => at <= share).map(([, at]) => R * at);
        const [near, far] = [Math.min(...passed, radius), Math.max(...passed, radius)];
        set(mark.trail, "x1", near * cos);
        set(mark.trail, "y1", near * sin);
        set(mark.trail, "x2", far * cos);
        set(mark.trail, "y2", far * sin);
      }
      if (mark.label) this.name(mark.label, mark);
    }
    if (this.shown) this.show(this.shown);
  }

  name(label, mark) {
    const inward = mark.x >= 0 ? -1 : 1;  // where no other model of the sector is
    label.setAttribute("x", mark.x + inward * (mark.size + 4));
    label.setAttribute("y", mark.y + 4);
    label.setAttribute("text-anchor", inward > 0 ? "start" : "end");
  }

  play() {
    this.stop();
    if (still()) return this.move(this.share < 1 ? 1 : 0);
    const begun = performance.now();
    const step = (now) => {
      const share = Math.min(1, Math.max(0, (now - begun) / (1000 * SECONDS)));
      this.move(1 - (1 - share) ** 2);
      this.timer = share < 1 ? requestAnimationFrame(step) : 0;
    };
    this.timer = requestAnimationFrame(step);
  }

  stop() { cancelAnimationFrame(this.timer); }

  // Show a model's card, and chords to the models of other modalities that it is aligned with best
  show(id) {
    this.hide();
    this.shown = id;
    const mark = this.marks.get(id), lit = new Set([id]);
    for (const [other, score] of mark.partners) {
      const partner = this.marks.get(other);
      if (!partner) continue;
      lit.add(other);
      const d = `M${mark.x},${mark.y}Q0,0 ${partner.x},${partner.y}`;
      make(this.chords, "path", { class: "chord", d, "stroke-width": 1 + 30 * Math.max(0, score) });
    }
    for (const [other, { dot }] of this.marks) dot.classList.toggle("dim", !lit.has(other));
    const texts = [mark.title, ...mark.lines].map((text) => text.length > 44 ? `${text.slice(0, 43)}…` : text);
    const wide = 7.4 * Math.max(...texts.map((text) => text.length)) + 20, high = 20 * texts.length + 14;
    const x = Math.min(Math.max(mark.x + 14, -330), 330 - wide);
    const y = Math.min(Math.max(mark.y - 20, -310), 310 - high);
    const card = make(this.card, "g", { transform: `translate(${x},${y})` });
    make(card, "rect", { width: wide, height: high, rx: 8 });
    texts.forEach((text, line) => {
      make(card, "text", { x: 10, y: 23 + 20 * line, class: line ? "soft" : "title" }, text);
    });
  }

  hide() {
    this.shown = null;
    this.chords?.replaceChildren();
    this.card?.replaceChildren();
    for (const { dot } of this.marks?.values() ?? []) dot.classList.remove("dim");
  }

  ring(selected) {
    for (const [id, { dot }] of this.marks) dot.setAttribute("aria-pressed", selected.includes(id));
  }

  press(event) {
    const id = event.target.dataset?.model;
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const metric = this.data.metrics[Number(event.key) - 1];
    if (event.target === this.slider && event.key.startsWith("Arrow")) return;
    if (id && event.key in steps) {
      const from = this.order.findIndex((mark) => mark.id === id);
      const next = this.order.at((from + steps[event.key]) % this.order.length).dot;
      event.target.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    } else if (id && (event.key === "Enter" || event.key === " ")) {
      this.send("picked", id);
    } else if (event.key === "Escape") {
      this.hide();
    } else if (metric && !event.ctrlKey && !event.metaKey && !event.altKey) {
      this.send("metric", metric.id);
    } else {
      return;
    }
    event.preventDefault();
  }
}

export default function({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".map");
  root.map ??= new ConvergenceMap(parentElement, setTriggerValue);
  root.map.send = setTriggerValue;
  root.map.draw(data);
}
