// Choosing among the episodes of a run by how they ended, by type, by cause and by words.

const OPEN_AT_ONCE = 50;
const wordsOf = (episode) => `${episode.querySelector(".id").textContent} ${episode.querySelector(".goal").textContent} ${episode.dataset.type}`.toLowerCase();

for (const run of document.querySelectorAll(".run")) {
  const filter = run.querySelector(".filter");
  if (!filter) continue;
  const own = [...run.querySelectorAll(".episode")];
  const said = filter.querySelector("output");
  const choose = () => {
    const chosen = [...filter.querySelectorAll("select")].filter((select) => select.value);
    const words = filter.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const episode of own) {
      const text = words.length ? wordsOf(episode) : "";
      episode.hidden = chosen.some((select) => episode.dataset[select.name] !== select.value) || words.some((word) => !text.includes(word));
      shown += !episode.hidden;
    }
    said.textContent = `${shown.toLocaleString("en")} of ${own.length.toLocaleString("en")} shown`;
  };
  filter.addEventListener("input", choose);
  filter.addEventListener("submit", (event) => event.preventDefault());
  filter.addEventListener("click", (event) => {
    const open = event.target.dataset.open;
    if (open === "no") for (const episode of own) episode.open = false;
    if (open !== "yes") return;
    const these = own.filter((episode) => !episode.hidden && episode.matches("details"));
    for (const episode of these.slice(0, OPEN_AT_ONCE)) show(episode);
    if (these.length > OPEN_AT_ONCE) said.textContent = `the first ${OPEN_AT_ONCE} of ${these.length.toLocaleString("en")} are open`;
  });
  filter.hidden = false;
  choose();
}
