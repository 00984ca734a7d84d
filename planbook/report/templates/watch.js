// What is new comes by itself, and takes the place of what stood there; what was opened stays open.

const REFRESHED_EVERY = 1000;
const state = document.getElementById("state");
const figures = document.getElementById("figures");
const parsed = (html) => {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
};

// Makes the children of one element those of the other, and keeps every element that can stay: with its scroll
// position, and open if it was opened.
function become(old, fresh) {
  const news = [...fresh.childNodes];
  for (const [number, node] of news.entries()) {
    const there = old.childNodes[number];
    if (!there) old.append(node);
    else if (there.nodeType !== node.nodeType || there.nodeName !== node.nodeName) there.replaceWith(node);
    else if (node.nodeType !== Node.ELEMENT_NODE) {
      if (there.nodeValue !== node.nodeValue) there.nodeValue = node.nodeValue;
    } else if (!there.isEqualNode(node)) {
      takeAttributes(there, node);
      become(there, node);
    }
  }
  while (old.childNodes.length > news.length) old.lastChild.remove();
}

const OWN = ["open", "hidden"];
const MARKS = ["at", "now", "near", "linked", "under-way"];
function takeAttributes(old, fresh) {
  const kept = MARKS.filter((mark) => old.classList.contains(mark));
  for (const { name } of [...old.attributes]) if (!OWN.includes(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (!OWN.includes(name)) old.setAttribute(name, value);
  if (kept.length) old.classList.add(...kept);
}

const refreshing = new Set();
async function refresh(episode) {
  if (refreshing.has(episode)) return;
  refreshing.add(episode);
  await unpack(episode);
  const html = await insideOf(episode.id).catch(() => null);
  if (html) become(episode.querySelector(":scope > .inside"), parsed(html));
  setTimeout(() => refreshing.delete(episode), REFRESHED_EVERY / 2);
}

const stale = new Set();
setInterval(() => {
  for (const episode of stale) {
    if (!episode.open || refreshing.has(episode)) continue;
    stale.delete(episode);
    refresh(episode);
  }
}, REFRESHED_EVERY);

function takeRows(rows) {
  for (const fresh of parsed(rows).querySelectorAll(".episode")) {
    const episode = document.getElementById(fresh.id);
    takeAttributes(episode, fresh);
    become(episode.querySelector(".head"), fresh.querySelector(".head"));
    if (unpacking.has(episode)) stale.add(episode);
    for (const select of document.querySelectorAll(".filter select")) {
      const value = episode.dataset[select.name];
      if (value && ![...select.options].some((option) => option.value === value)) select.add(new Option(select.name === "type" ? value : value.replaceAll("_", " "), value));
    }
  }
  document.querySelector(".filter")?.dispatchEvent(new Event("input"));
}

function take(news) {
  document.documentElement.classList.remove("gone");
  become(state, parsed(news.state));
  document.title = news.title;
  for (const button of document.querySelectorAll("[data-do]")) button.disabled = !news.can.includes(button.dataset.do);
  if (news.figures !== undefined) become(figures, parsed(news.figures));
  if (news.rows) takeRows(news.rows);
  for (const episode of episodes) episode.classList.toggle("under-way", news.under_way.includes(episode.id));
}

const source = new EventSource(`news?since=${document.body.dataset.version}`);
source.addEventListener("message", (event) => take(JSON.parse(event.data)));
source.addEventListener("error", () => {
  document.documentElement.classList.add("gone");
  state.querySelector(".word").textContent = "planbook watch has ended";
  for (const button of document.querySelectorAll("[data-do]")) button.disabled = true;
});

for (const button of document.querySelectorAll("[data-do]")) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    const answer = await fetch(`ask/${encodeURIComponent(button.dataset.do)}`, { method: "POST" });
    if (!answer.ok) alert(await answer.text());
  });
}
// The token has become a cookie: it need not stand in the address any longer.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);
