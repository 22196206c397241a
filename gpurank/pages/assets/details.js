// A row opens into its system description and its runs, each with a link to the line of its log at
// the commit that was read.
function element(name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined && text !== null) node.textContent = text;
  if (className) node.className = className;
  return node;
}
function logLink(row, path, line, text) {
  const tree = data.trees[row.r];
  if (!tree) return element("span", text);
  const anchor = element("a", text);
  anchor.href = tree + path.split("/").map(encodeURIComponent).join("/") + (line ? `#L${line}` : "");
  anchor.rel = "noreferrer";
  return anchor;
}
const outcomes = ["dropped", "kept", "not converged"];

function detailOf(row) {
  const line = element("tr", null, "detail");
  line.setAttribute("role", "row");
  const cell = line.insertCell();
  cell.setAttribute("role", "cell");
  cell.colSpan = 10;
  const facts = element("dl", null, "facts");
  row.d.forEach((value, i) => {
    if (value === null) return;
    const pair = element("div");
    pair.append(element("dt", data.labels[i]), element("dd", value));
    facts.append(pair);
  });
  cell.append(element("h3", "System", "sub"), facts);
  if (row.p) {
    const source = element("p");
    source.append(logLink(row, row.p, 0, "System description as filed"));
    cell.append(source);
  }
  row.w.forEach((text) => cell.append(element("p", `Check before use: ${text}`, "warn")));
  cell.append(element("h3", "Runs", "sub"), runsOf(row));
  cell.append(element("p", "The score is the mean of the kept runs. Result id: ", "hint"));
  cell.lastChild.append(element("code", row.id));
  return line;
}

function runsOf(row) {
  const runs = element("ol", null, "runs");
  row.l.forEach(([rest, minutes, outcome, start]) => {
    const item = element("li", null, `run-${outcome}`);
    const name = (row.f + rest).split("/").pop();
    item.append(
      element("span", minutes === null ? "–" : `${number(minutes)} min`, "n"), " ",
      element("span", outcomes[outcome]), " ",
      logLink(row, row.f + rest, start, name),
    );
    runs.append(item);
  });
  return runs;
}

function toggle(line) {
  const i = line.place;
  line.isOpen = !line.isOpen;
  if (!line.detail) {
    line.detail = detailOf(rows[i]);
    line.detail.id = `detail-${i}`;
    line.after(line.detail);
    line.querySelector(".open").setAttribute("aria-controls", line.detail.id);
  }
  line.detail.hidden = !line.isOpen;
  line.querySelector(".open").setAttribute("aria-expanded", String(line.isOpen));
}

// The table becomes a control: headings sort, rows open. Roles are explicit, because narrow screens
// show rows as cards.
table.setAttribute("role", "table");
table.classList.add("live");
table.classList.toggle("long", count > 500);
for (const part of [table.tHead, ...groups]) part.setAttribute("role", "rowgroup");
table.tHead.rows[0].setAttribute("role", "row");
[...table.tHead.rows[0].cells].forEach((head, i) => {
  const button = element("button", heads[i]);
  button.type = "button";
  button.dataset.sort = keys[i];
  head.replaceChildren(button);
  head.dataset.head = heads[i];
  head.setAttribute("role", "columnheader");
});
lines.forEach((line, i) => {
  line.place = i;
  line.setAttribute("role", "row");
  [...line.cells].forEach((cell, place) => {
    cell.setAttribute("role", "cell");
    cell.dataset.label = heads[place];
  });
  const button = element("button", null, "open");
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  button.append(...[...line.cells[3].childNodes].filter((node) => node.nodeName !== "SMALL"));
  line.cells[3].prepend(button, " ");
});
