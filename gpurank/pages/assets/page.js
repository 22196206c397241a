// State, sliders, sorting and filtering. The rows are in the document already: they are moved and
// hidden, never created.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const table = byId("rank");
const lines = [...table.tBodies[0].rows];
const rows = data.rows;
const keys = [...document.querySelectorAll("#rank th")].map((head) => head.dataset.key);
const heads = [...document.querySelectorAll("#rank th")].map((head) => head.textContent);
// What the filters need, by row; the table holds it as text.
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
// Created once, because a new format for every number would slow a long list down.
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
  list = rankRows(rows, state.lambda, state.deadline, data.quantile);
  const at = new Map(list.map((item, place) => [item.i, { place, item }]));
  lines.forEach((line, i) => {
    const item = at.get(i)?.item;
    setText(line.cells[0], item ? String(item.rank) : "–");
    setText(line.cells[2], item ? String(item.tie) : "–");
    setText(line.cells[7], number(rows[i].t * (rows[i].n + state.lambda)));
    line.isLate = !item;
  });
  sortRows(at);
  describe();
  filter();
}

// Only what changes is written, because the browser lays out again whatever is written.
function setText(cell, text) {
  if (cell.firstChild.data !== text) cell.firstChild.data = text;
}

function sortRows(at) {
  const key = sorters[state.sort];
  const values = rows.map((_, i) => key(i, at));
  const sign = state.down ? -1 : 1;
  const order = rows.map((_, i) => i).sort((a, b) => {
    const difference = values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0;
    return sign * difference || (at.get(a)?.place ?? count + a) - (at.get(b)?.place ?? count + b);
  });
  groups.forEach((group, g) => {
    const inOrder = order.slice(g * groupSize, (g + 1) * groupSize).map((i) => lines[i]);
    group.replaceChildren(...inOrder.flatMap((line) => (line.detail ? [line, line.detail] : [line])));
  });
}

// Rows are in groups, which the browser lays out when they come near the window, so that a long
// list follows the sliders.
const groupSize = 50;
const groups = [table.tBodies[0]];
while (groups.length * groupSize < count) groups.push(table.createTBody());
lines.forEach((line, i) => groups[Math.floor(i / groupSize)].append(line));

function describe() {
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
  const rank = list.length === 1 ? "is the only one" : `ranks first of ${list.length.toLocaleString("en-US")}`;
  const ties = tied === 0 ? "." :
    `; statistically tied with ${tied === 1 ? "1 other" : `${tied.toLocaleString("en-US")} others`}.`;
  byId("headline").textContent =
    `If a minute of waiting is worth the rental of ${short(state.lambda)} chips${within}, ` +
    `${system(first.row)}${filed} ${rank}: ${first.row.c} train in ${number(first.row.t)} minutes${ties}`;
  fillTiles(first);
}

// The three answers follow both sliders; so does the formula of the delay cost in the footnotes.
function fillTiles(first) {
  const lowest = (value) => list.reduce((best, item) => (value(item) < value(best) ? item : best));
  const byTime = [...list].sort((a, b) => a.row.t - b.row.t || a.row.n - b.row.n)[0];
  byId("tile-best").querySelector("h3").textContent = `Lowest delay cost (λ = ${short(state.lambda)})`;
  fillTile("tile-best", first);
  fillTile("tile-fastest", byTime);
  fillTile("tile-least", lowest((item) => item.row.n * item.row.t));
  for (const [line, text] of formulas) {
    line.textContent = text.replace(/\(accelerators \+ [^)]*\)/, `(accelerators + ${short(state.lambda)})`);
  }
}
function fillTile(name, item) {
  const box = byId(name);
  const row = item.row;
  box.querySelector(".who").textContent = system(row);
  box.querySelector(".what").textContent = `${row.c} · ${row.r} · ${facts[item.i].availability}`;
  const shown = [row.t, row.n * row.t, item.cost].map(number);
  box.querySelectorAll("dd").forEach((cell, i) => { cell.textContent = shown[i]; });
}
const withFormula = "#answers-figure .notes p, #ranking-figure .notes p, #plane-chart-figure .notes p";
const formulas = [...document.querySelectorAll(withFormula)]
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
