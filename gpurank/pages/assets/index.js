const search = document.getElementById("search");
const rows = [...document.querySelectorAll("#first-figure tbody tr")];
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const line of rows) {
    const text = line.textContent.toLowerCase();
    line.hidden = !words.every((word) => text.includes(word));
    shown += !line.hidden;
  }
  document.getElementById("shown").textContent = `${shown} of ${rows.length} lists shown.`;
});
document.getElementById("filters").hidden = false;
