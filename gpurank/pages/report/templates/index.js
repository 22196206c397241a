const search = document.getElementById("search");
const found = [...document.querySelectorAll("#first-table tbody tr")];
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const line of found) {
    const text = line.textContent.toLowerCase();
    line.hidden = !words.every((word) => text.includes(word));
    shown += !line.hidden;
  }
  document.getElementById("shown").textContent = `${shown} of ${found.length} lists shown.`;
});
document.getElementById("filters").hidden = false;
