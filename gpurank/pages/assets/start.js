// Connects the controls and shows them: without scripts the page is a plain report.
let isWaiting = false;
function rerankSoon() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => { isWaiting = false; rerank(); });
}
function setLambda(value, from) {
  if (!(value >= 0 && Number.isFinite(value))) return;
  state.lambda = value;
  if (from !== "range") byId("lambda").value = stepOf(value);
  if (from !== "number") byId("lambda-number").value = value;
  byId("lambda").setAttribute("aria-valuetext", `${short(value)} chips`);
  rerankSoon();
}
function setDeadline(value, from) {
  if (!(value > 0)) return;
  state.deadline = value;
  if (from !== "range") byId("deadline").value = deadlineStep(value);
  if (from !== "number") byId("deadline-number").value = value < Infinity ? value : "";
  const text = value < Infinity ? `${number(value)} minutes` : "no deadline";
  byId("deadline").setAttribute("aria-valuetext", text);
  rerankSoon();
}
function sortBy(key, isDown) {
  state.sort = key;
  state.down = isDown;
  byId("sort").value = key;
  document.querySelectorAll("#rank th").forEach((head) => {
    const isKey = head.dataset.key === key;
    if (isKey) head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  rerankSoon();
}
byId("lambda").addEventListener("input", (event) => setLambda(lambdaAt(Number(event.target.value)), "range"));
byId("lambda-number").addEventListener("input", (event) => {
  if (event.target.value !== "") setLambda(Number(event.target.value), "number");
});
byId("deadline").addEventListener("input", (event) => setDeadline(deadlineAt(Number(event.target.value)), "range"));
byId("deadline-number").addEventListener("input", (event) => {
  setDeadline(event.target.value === "" ? Infinity : Number(event.target.value), "number");
});
document.querySelectorAll("[data-lambda]").forEach((button) => {
  button.addEventListener("click", () => setLambda(Number(button.dataset.lambda)));
});
document.querySelectorAll("[data-sort]").forEach((button) => {
  button.addEventListener("click", () =>
    sortBy(button.dataset.sort, state.sort === button.dataset.sort && !state.down));
});
byId("sort").addEventListener("change", (event) => sortBy(event.target.value, false));
byId("search").addEventListener("input", filter);
document.querySelectorAll("[data-filter]").forEach((choice) => choice.addEventListener("change", filter));
byId("reset").addEventListener("click", () => {
  byId("search").value = "";
  document.querySelectorAll("[data-filter]").forEach((choice) => { choice.value = ""; });
  setLambda(data.lambda);
  setDeadline(Infinity);
  sortBy("rank", false);
});
table.addEventListener("click", (event) => {
  const line = event.target.closest("tr");
  if (line && line.place !== undefined && !event.target.closest("a") && !String(getSelection())) toggle(line);
});
byId("controls").hidden = false;
byId("filters").hidden = false;
byId("lambda").value = stepOf(state.lambda);
byId("lambda-number").value = state.lambda;
byId("lambda").setAttribute("aria-valuetext", `${short(state.lambda)} chips`);
byId("deadline").value = 200;
byId("deadline").setAttribute("aria-valuetext", "no deadline");
rerank();
