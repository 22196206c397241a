// The chart follows the table: hidden rows fade, the first is marked, and the line of equal delay
// cost goes through it. Arrow keys move over the points and read them out.
const plane = byId("plane");
const points = [...plane.querySelectorAll("[data-i]")];
const svgNamespace = "http://www.w3.org/2000/svg";
for (const point of document.querySelectorAll(".chart [data-i]")) {
  const row = rows[Number(point.dataset.i)];
  const title = document.createElementNS(svgNamespace, "title");
  title.textContent = `${system(row)}, ${row.r}: ${row.c}, ${number(row.t)} min`;
  point.prepend(title);
}
const box = plane.dataset.box.split(" ").map(Number);
const limits = ["x0", "x1", "y0", "y1"].map((name) => Math.log(Number(plane.dataset[name])));
const atX = (value) => box[0] + (Math.log(value) - limits[0]) / (limits[1] - limits[0]) * (box[1] - box[0]);
const atY = (value) => box[3] + (Math.log(value) - limits[2]) / (limits[3] - limits[2]) * (box[2] - box[3]);

function drawPlane() {
  const first = list[0];
  for (const point of points) {
    const line = lines[Number(point.dataset.i)];
    point.classList.toggle("out", line.hidden);
    point.classList.toggle("first", Boolean(first) && first.i === Number(point.dataset.i));
  }
  const iso = plane.querySelector(".iso");
  if (!first) { iso.setAttribute("d", ""); return; }
  const steps = [];
  for (let i = 0; i <= 60; i += 1) {
    const n = Math.exp(limits[0] + (limits[1] - limits[0]) * i / 60);
    const y = atY(first.cost / (n + state.lambda));
    if (y >= box[2] && y <= box[3]) steps.push(`${atX(n).toFixed(1)} ${y.toFixed(1)}`);
  }
  iso.setAttribute("d", steps.length ? `M${steps.join("L")}` : "");
}

let current = -1;
function moveBy(step) {
  const shown = points.filter((point) => !point.classList.contains("out"))
    .sort((a, b) => rows[a.dataset.i].n - rows[b.dataset.i].n || rows[a.dataset.i].t - rows[b.dataset.i].t);
  if (!shown.length) return;
  points.forEach((point) => point.classList.remove("current"));
  current = (current + step + shown.length) % shown.length;
  shown[current].classList.add("current");
  byId("plane-reading").textContent = shown[current].querySelector("title").textContent;
}
const planeBox = document.querySelector("[data-keys=plane]");
planeBox.tabIndex = 0;
planeBox.setAttribute("role", "group");
planeBox.setAttribute("aria-label", "Chart; arrow keys move over its points");
planeBox.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  moveBy(step);
});
plane.addEventListener("click", (event) => {
  const point = event.target.closest("[data-i]");
  if (!point) return;
  const line = lines[Number(point.dataset.i)];
  byId("plane-reading").textContent = point.querySelector("title").textContent;
  if (!line.isOpen) toggle(line);
  line.scrollIntoView({ block: "center" });
  line.querySelector(".open").focus();
});
