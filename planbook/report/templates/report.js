"use strict";
for (const run of document.querySelectorAll(".run")) {
  const filter = run.querySelector(".filter");
  if (!filter) continue;
  const episodes = [...run.querySelectorAll(".episode")];
  const count = filter.querySelector("output");
  const choose = () => {
    const chosen = [...filter.querySelectorAll("select")].filter((select) => select.value);
    let shown = 0;
    for (const episode of episodes) {
      episode.hidden = chosen.some((select) => episode.dataset[select.name] !== select.value);
      shown += !episode.hidden;
    }
    count.textContent = `${shown} of ${episodes.length}`;
  };
  filter.addEventListener("input", choose);
  filter.addEventListener("click", (event) => {
    const open = event.target.dataset.open;
    if (open) for (const episode of episodes) episode.open = open === "yes" && !episode.hidden;
  });
  filter.hidden = false;
  choose();
}
