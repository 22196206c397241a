// State, sliders, sorting and filtering. Rows stand in the document already; they are moved and
// hidden, never made anew.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const table = byId("rank");
const lines = [...table.tBodies[0].rows];
const rows = data.rows;
const keys = [...document.querySelectorAll("#rank th")].map((head) => head.dataset.key);
const heads = [...document.querySelectorAll("#rank th")].map((head) => head.textContent);
// What the filters ask for, by row; the table holds it as text.
const facts = rows.map((row, i) => {
  const cells = lines[i].cells;
  const [availability, place] = cells[9].textContent.split(", ");
  const [low, high] = cells[1].textContent.split("–").map(Number);
  return { family: row.a, submitter: row.s, round: row.r, availability, place: place || "",
    cluster: cells[8].textContent.trim(), low, high };
});
const count = rows.length;
const state = { lambda: data.lambda, deadline: Infinity, sort: "rank", down: false };
const times = rows.map((row) => row.t);
const fastest = Math.min(...times), slowest = Math.max(...times);
let list = [];

const digits = (size) => (size < 10 ? 3 : size < 100 ? 2 : size < 10000 ? 1 : 0);
// Made once: a new format for every number is what a long list would wait for.
const forms = [0, 1, 2, 3].map((n) =>
  new Intl.NumberFormat("en-US", { minimumFractionDigits: n, maximumFractionDigits: n }));
const number = (value) => forms[digits(Math.abs(value))].format(value);
function short(value) {
  if (value >= 100) return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  return String(Number(value.toPrecision(3)));
}
// A name that begins with its submitter stands alone.
const system = (row) => row.y.toLowerCase().startsWith(`${row.s.toLowerCase()} `) ? row.y : `${row.s} ${row.y}`;

// Slider steps: 0, then a quarter of a chip to 8,192 in equal ratios.
const lambdaAt = (step) => (step === 0 ? 0 : Number((2 ** (-2 + (step - 1) * 15 / 119)).toPrecision(3)));
function stepOf(lambda) {
  if (lambda < 0.25) return 0;
  return Math.min(120, Math.round(1 + (Math.log2(lambda) + 2) * 119 / 15));
}
const deadlineAt = (step) =>
  step >= 200 ? Infinity : Number((fastest * (slowest / fastest) ** (step / 200) * 1.0005).toPrecision(4));
function deadlineStep(deadline) {
  if (deadline >= slowest || slowest === fastest) return 200;
  const step = 200 * Math.log(deadline / fastest) / Math.log(slowest / fastest);
  return Math.max(0, Math.min(200, Math.round(step)));
}

const sorters = {
  rank: (i, at) => at.get(i)?.place ?? count + i,
  interval: (i) => facts[i].low + facts[i].high / 1e6,
  tie: (i, at) => at.get(i)?.place ?? count + i,
  count: (i) => rows[i].n,
  minutes: (i) => rows[i].t,
  work: (i) => rows[i].n * rows[i].t,
  cost: (i) => rows[i].t * (rows[i].n + state.lambda),
  cluster: (i) => Number(facts[i].cluster) || 99,
  system: (i) => system(rows[i]).toLowerCase(),
  status: (i) => facts[i].availability + facts[i].place,
};

function rerank() {
  list = ranked(rows, state.lambda, state.deadline, data.quantile);
  const at = new Map(list.map((item, place) => [item.i, { place, item }]));
  lines.forEach((line, i) => {
    const found = at.get(i)?.item;
    put(line.cells[0], found ? String(found.rank) : "–");
    put(line.cells[2], found ? String(found.tie) : "–");
    put(line.cells[7], number(rows[i].t * (rows[i].n + state.lambda)));
    line.isLate = !found;
  });
  arrange(at);
  say();
  filter();
}

// Only what changes is written: the browser lays out what was touched, whether it differs or not.
function put(cell, text) {
  if (cell.firstChild.data !== text) cell.firstChild.data = text;
}

function arrange(at) {
  const key = sorters[state.sort];
  const values = rows.map((_, i) => key(i, at));
  const sign = state.down ? -1 : 1;
  const places = rows.map((_, i) => i).sort((a, b) => {
    const order = values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0;
    return sign * order || (at.get(a)?.place ?? count + a) - (at.get(b)?.place ?? count + b);
  });
  move(places);
}

// Rows stand in groups, which the browser lays out when they come near the window: thousands of rows
// follow the sliders, and scrolling has few groups to watch.
const inGroup = 50;
const groups = [table.tBodies[0]];
while (groups.length * inGroup < count) groups.push(table.createTBody());
lines.forEach((line, i) => groups[Math.floor(i / inGroup)].append(line));

// Rows that stand in the right order among themselves (the longest such run) stay; the others are
// moved between them.
let order = rows.map((_, i) => i);
function move(places) {
  const stood = new Int32Array(count);
  order.forEach((i, place) => { stood[i] = place; });
  const staying = longestRun(places.map((i) => stood[i]));
  let next = null;
  for (let place = count - 1; place >= 0; place -= 1) {
    const line = lines[places[place]], group = groups[Math.floor(place / inGroup)];
    if (next && next.parentNode !== group) next = null;
    if (!staying.has(place) || line.parentNode !== group) {
      group.insertBefore(line, next);
      if (line.detail) group.insertBefore(line.detail, next);
    }
    next = line;
  }
  order = places;
}

// Places of a longest rising subsequence of distinct numbers (patience sorting).
function longestRun(values) {
  const tops = [], before = new Int32Array(values.length);
  values.forEach((value, place) => {
    let low = 0, high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[tops[middle]] < value) low = middle + 1; else high = middle;
    }
    before[place] = low > 0 ? tops[low - 1] : -1;
    tops[low] = place;
  });
  const found = new Set();
  for (let place = tops.length ? tops.at(-1) : -1; place >= 0; place = before[place]) found.add(place);
  return found;
}

function say() {
  const first = list[0];
  const settings = `λ = ${short(state.lambda)}` +
    (state.deadline < Infinity ? `, deadline ${number(state.deadline)} minutes` : "");
  const basis = state.lambda === data.lambda && state.deadline === Infinity ? "" :
    " Ranks, tie groups and delay cost follow your settings; rank intervals stay those of the" +
    " whole list over λ from 1 to 64.";
  byId("basis").textContent = `Now: ${settings}.${basis}`;
  if (!first) {
    byId("headline").textContent =
      `No result of this list trains within ${number(state.deadline)} minutes; the fastest needs ` +
      `${number(fastest)}.`;
    return;
  }
  const tied = list.filter((item) => item.tie === 1).length - 1;
  const within = state.deadline < Infinity ? ` and training must end within ${number(state.deadline)} minutes` : "";
  const filed = data.pooled ? ` (filed in ${first.row.r})` : "";
  const many = list.length === 1 ? "is the only one" : `ranks first of ${list.length.toLocaleString("en-US")}`;
  const unsure = tied === 0 ? "." :
    `; the noise of runs cannot part it from ${tied === 1 ? "1 other" : `${tied.toLocaleString("en-US")} others`}.`;
  byId("headline").textContent =
    `If a minute of waiting is worth the rental of ${short(state.lambda)} chips${within}, ` +
    `${system(first.row)}${filed} ${many}: ${first.row.c} train in ${number(first.row.t)} minutes${unsure}`;
  tiles(first);
}

// The three answers follow both sliders; so does the basis told in the footnotes.
function tiles(first) {
  const lowest = (value) => list.reduce((best, item) => (value(item) < value(best) ? item : best));
  const byTime = [...list].sort((a, b) => a.row.t - b.row.t || a.row.n - b.row.n)[0];
  byId("tile-best").querySelector("h3").textContent = `Lowest delay cost (λ = ${short(state.lambda)})`;
  tile("tile-best", first);
  tile("tile-fastest", byTime);
  tile("tile-least", lowest((item) => item.row.n * item.row.t));
  for (const [line, text] of formulas) {
    line.textContent = text.replace(/\(accelerators \+ [^)]*\)/, `(accelerators + ${short(state.lambda)})`);
  }
}
function tile(name, item) {
  const box = byId(name);
  const row = item.row;
  box.querySelector(".who").textContent = system(row);
  box.querySelector(".what").textContent = `${row.c} · ${row.r} · ${facts[item.i].availability}`;
  const shown = [row.t, row.n * row.t, item.cost].map(number);
  box.querySelectorAll("dd").forEach((cell, i) => { cell.textContent = shown[i]; });
}
const following = "#answers-figure .notes p, #ranking-figure .notes p, #plane-chart-figure .notes p";
const formulas = [...document.querySelectorAll(following)]
  .filter((line) => line.textContent.includes("(accelerators + "))
  .map((line) => [line, line.textContent]);

function filter() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = [...document.querySelectorAll("[data-filter]")]
    .filter((box) => box.value).map((box) => [box.dataset.filter, box.value]);
  let shown = 0;
  lines.forEach((line, i) => {
    const text = texts[i];
    const isShown = !line.isLate && words.every((word) => text.includes(word)) &&
      wanted.every(([name, value]) => facts[i][name] === value);
    line.hidden = !isShown;
    if (line.detail) line.detail.hidden = !isShown || !line.isOpen;
    shown += isShown;
  });
  for (const group of groups) group.hidden = [...group.rows].every((line) => line.hidden);
  const note = shown < list.length ? "; ranks stay those of the whole list" : "";
  byId("shown").textContent = `${shown.toLocaleString("en-US")} of ${count.toLocaleString("en-US")} results shown${note}.`;
  drawPlane();
}
const texts = rows.map((row, i) =>
  [system(row), row.c, row.id, ...Object.values(facts[i])].join(" ").toLowerCase());
