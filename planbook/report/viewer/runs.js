// Draws the runs of the page: their sections, the rows of their episodes, and the filter of these rows.

const AFTER_EPISODES = ["counts", "configuration"]; // the sections below the episodes
const FILTERED_BY = ["outcome", "type", "cause"];
const COMMAND = DATA.live ? "planbook watch" : "planbook report"; // shown above the heading
const KEYS_NOTE = `Keys: ${DATA.live ? "" : "/ searches, n and N go to the next and previous hit; "}j and k go to the next and previous episode, o opens it; ] and [ go to the next and previous step.`;

function drawRun(run) {
  const isAlone = DATA.runs.length === 1;
  const rows = run.rows.map(drawRow);
  const list = make("div", { class: "episodes" });
  for (const row of rows) { // one by one: a call takes a limited number of arguments
    list.append(row);
    episodes.push(row);
  }
  document.querySelector("main").append(make("article", { class: "run", id: run.id },
    make("header", {},
      make("p", { class: "overline" }, isAlone ? COMMAND : "run"),
      make(isAlone ? "h1" : "h2", { class: isAlone ? "" : "name" }, isAlone ? run.title : run.name),
      make("p", { class: "overline" }, isAlone ? run.name : run.title),
      make("nav", { class: "contents", "aria-label": "contents" })),
    make("section", { class: "all-episodes" }, make("h3", {}, "Episodes"), drawFilter(run, rows), list),
    run.outside !== null && make("section", { class: "outside" }, make("h3", {}, "Outside the episodes"),
      make("details", { class: "packed", id: `${run.id}-outside`, "data-document": run.outside }, make("summary", {}, "What happened before, between and after them")))));
  drawSections(run.id, run.sections);
}
function drawSections(runId, sections) {
  const article = document.getElementById(runId);
  let previous = article.querySelector("header");
  for (const { id, title, class: kind, nodes } of sections) {
    const existing = document.getElementById(id);
    const section = existing ?? make("section", { class: kind, id }, title && make("h3", {}, title), make("div", { class: "nodes" }));
    if (AFTER_EPISODES.includes(kind)) previous = article.lastElementChild;
    if (!existing) previous.after(section);
    updateChildren(section.lastElementChild, make("div", {}, nodes.map(draw)));
    previous = section;
  }
  const titles = [...article.querySelectorAll(":scope > section > h3")];
  for (const title of titles) title.id = `${runId}-${title.textContent.trim().toLowerCase().replace(/\W+/g, "-")}-title`;
  updateChildren(article.querySelector(".contents"), make("nav", {}, titles.map((title) => make("a", { href: `#${title.id}` }, title.textContent))));
}
function drawComparison() {
  const names = DATA.runs.map(({ id, name, title }) => make("li", {}, make("a", { href: `#${id}` }, name), `: ${title}`));
  document.querySelector("main").append(
    make("header", {}, make("p", { class: "overline" }, COMMAND), make("h1", {}, `${names.length} runs side by side`), make("nav", {}, make("ul", {}, names))),
    make("section", { class: "comparison", id: "comparison" }, DATA.comparison.map(draw)));
}

function drawRow({ id, n, outcome, type, cause, status, task, repeat, goal, detail, document: number }) {
  const hasDocument = number !== null;
  const head = make(hasDocument ? "summary" : "div", { class: "head", tabindex: !hasDocument && "-1" },
    make("span", { class: "n" }, n), make("span", { class: `outcome ${outcome}` }, status),
    make("span", { class: "id" }, task, repeat > 0 && [" ", make("small", {}, `repeat ${repeat}`)]), make("span", { class: "goal" }, goal), make("span", { class: "small" }, detail));
  return make(hasDocument ? "details" : "div", { class: "episode", id, "data-outcome": outcome, "data-type": type, "data-cause": cause, "data-document": number }, head);
}
function addChoices(select, rows) {
  const offered = new Set([...select.options].map((option) => option.value));
  for (const value of rows.map((row) => row.dataset[select.name]).filter(Boolean).sort()) {
    if (offered.has(value)) continue;
    offered.add(value);
    const words = DATA.live && value === "not_run" ? "not ended yet" : value.replaceAll("_", " ");
    select.add(new Option(select.name === "type" ? value : words, value));
  }
}
function drawFilter({ id }, rows) {
  const selects = FILTERED_BY.map((name) => make("select", { name }, new Option("all", "")));
  for (const select of selects) addChoices(select, rows);
  const wordsInput = make("input", { name: "words", type: "search", size: 14, placeholder: "id, goal, type" });
  const output = make("output");
  const filter = make("form", { class: "filter", autocomplete: "off" }, selects.map((select) => make("label", {}, `${select.name} `, select)),
    make("label", {}, "words ", wordsInput), output, make("span", { class: "note" }, KEYS_NOTE));
  const applyFilter = () => {
    const chosen = selects.filter((select) => select.value);
    const words = wordsInput.value.toLowerCase().split(/\s+/).filter(Boolean);
    const textOf = (row) => [".id", ".goal"].map((selector) => row.querySelector(selector).textContent).join(" ") + row.dataset.type;
    for (const row of rows) {
      const searchable = words.length ? textOf(row).toLowerCase() : "";
      row.hidden = chosen.some((select) => row.dataset[select.name] !== select.value) || words.some((word) => !searchable.includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    output.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
  };
  filter.addEventListener("input", applyFilter);
  filter.addEventListener("submit", (event) => event.preventDefault());
  applyFilter();
  return filter;
}
