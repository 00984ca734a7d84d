// Draws the page, and scrolls to the fragment in its address. If the run is being watched, updates the page.

// Makes the children of one element equal to those of another. Equal elements stay, with their scroll position and open state.
function updateChildren(old, fresh) {
  const nodes = [...fresh.childNodes];
  for (const [number, node] of nodes.entries()) {
    const current = old.childNodes[number];
    if (!current) old.append(node);
    else if (current.nodeType !== node.nodeType || current.nodeName !== node.nodeName) current.replaceWith(node);
    else if (node.nodeType !== Node.ELEMENT_NODE) {
      if (current.nodeValue !== node.nodeValue) current.nodeValue = node.nodeValue;
    } else if (!current.isEqualNode(node)) {
      copyAttributes(current, node);
      updateChildren(current, node);
    }
  }
  while (old.childNodes.length > nodes.length) old.lastChild.remove();
}
const KEPT_ATTRIBUTES = ["open", "hidden"];
const KEPT_CLASSES = ["at", "now", "linked", "under-way"];
function copyAttributes(old, fresh) {
  const kept = KEPT_CLASSES.filter((name) => old.classList.contains(name));
  for (const { name } of [...old.attributes]) if (!KEPT_ATTRIBUTES.includes(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (!KEPT_ATTRIBUTES.includes(name)) old.setAttribute(name, value);
  if (kept.length) old.classList.add(...kept);
}

if (DATA.runs.length > 1) drawComparison();
for (const run of DATA.runs) drawRun(run);
const fragment = () => decodeURIComponent(location.hash.slice(1));
addEventListener("hashchange", () => goTo(fragment()));
if (location.hash) goTo(fragment());

const POLL_MS = 1000;
const state = document.getElementById("state");
const stale = new Set(); // episodes that were drawn before their last change
function updateRow(row) {
  const episode = document.getElementById(row.id);
  const fresh = drawRow({ ...row, document: row.n });
  copyAttributes(episode, fresh);
  updateChildren(episode.querySelector(".head"), fresh.firstElementChild);
  if (episode.open || unpacking.has(episode)) stale.add(episode);
  for (const select of document.querySelectorAll(".filter select")) addChoices(select, [episode]);
}
function drawState({ doing, ended, total, solved, broken, spending, resume, now }) {
  const lines = now.map(({ id, task, goal, detail }) => make("li", {}, make("a", { href: `#${id}` }, task), " ", make("span", { class: "goal" }, goal), " ", detail && make("code", {}, detail)));
  return make("div", {}, make("p", { class: "doing" }, make("b", { class: `word ${doing}` }, doing), " ",
    make("span", {}, `${ended.toLocaleString("en")} of ${counted(total, "episode")} ended, ${solved.toLocaleString("en")} solved`), " ",
    broken > 0 && [make("span", { class: "broken" }, `${broken.toLocaleString("en")} broken`), " "], make("span", {}, spending), resume && [" ", make("code", {}, resume)]),
  lines.length > 0 && make("ul", { class: "happening" }, lines));
}
function applyNews(news) {
  document.documentElement.classList.remove("gone");
  updateChildren(state, drawState(news.state));
  document.title = news.title;
  const focused = document.activeElement;
  for (const button of document.querySelectorAll("[data-do]")) button.disabled = !news.can.includes(button.dataset.do);
  if (focused?.disabled) document.querySelector("[data-do]:enabled")?.focus();
  if (news.sections) drawSections(DATA.runs[0].id, news.sections);
  for (const row of news.rows ?? []) updateRow(row);
  if (news.rows?.length) document.querySelector(".filter").dispatchEvent(new Event("input"));
  for (const episode of episodes) episode.classList.toggle("under-way", news.under_way.includes(episode.id));
}
function showDisconnected(reason) {
  document.documentElement.classList.add("gone");
  state.querySelector(".word").textContent = reason;
  for (const button of document.querySelectorAll("[data-do]")) button.disabled = true;
}
async function update() {
  const answer = await fetch(`news?since=${DATA.live.version}`).catch(() => null);
  if (!answer?.ok) return showDisconnected(answer ? await answer.text() : "planbook watch is not responding");
  const news = await answer.json();
  applyNews(news);
  DATA.live = news; // not before: after an error, the same news is requested again
  for (const episode of stale) {
    if (!episode.open) continue;
    await unpack(episode);
    await drawInside(episode).catch(() => null);
    stale.delete(episode);
  }
}
const poll = () => update().catch(() => showDisconnected("planbook watch cannot be read")).finally(() => setTimeout(poll, POLL_MS));
function watch() {
  document.documentElement.classList.add("live");
  document.querySelector("header.watch").hidden = false;
  applyNews(DATA.live);
  poll();
  for (const button of document.querySelectorAll("[data-do]")) {
    button.addEventListener("click", async () => {
      const answer = await fetch(`ask/${encodeURIComponent(button.dataset.do)}`, { method: "POST" });
      if (!answer.ok) alert(await answer.text());
    });
  }
  // A cookie holds the token now, so remove it from the address.
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
}
if (DATA.live) watch();
else searchBar.hidden = false;
