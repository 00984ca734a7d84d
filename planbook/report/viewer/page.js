"use strict";
// Creates elements, decompresses data, draws the nodes of sections, and handles links, clicks and keys.

const DATA = JSON.parse(document.getElementById("data").textContent);
const TAGS = new Set("a article b blockquote br code dd details div dl dt em h4 h5 h6 hr li ol p pre s small span strong summary table tbody td th thead tr ul".split(" "));

// Creates an element. Children are nodes or strings; strings become text nodes.
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value || value === 0) element.setAttribute(name, value === true ? "" : value);
  element.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return element;
}
const details = (kind, summary, ...inside) => make("details", { class: kind }, make("summary", {}, summary), ...inside);
const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

// Decompresses packed data: zlib in base64, as episodes.py writes it.
async function decompress(data) {
  const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const chunksOf = (kind) => [...document.querySelectorAll(`script.${kind}`)].map((script) => ({ script, first: Number(script.dataset.first) }));
const chunks = { documents: chunksOf("documents"), texts: chunksOf("texts") };
async function packed(kind, number) {
  const chunk = chunks[kind].findLast(({ first }) => first <= number);
  chunk.values ??= decompress(chunk.script.textContent);
  return (await chunk.values)[number - chunk.first];
}

// A document refers to long texts by number, under a key that no other object has.
const TEXT_REFERENCE = "\u0001";
const isTextReference = (value) => value !== null && typeof value === "object" && TEXT_REFERENCE in value;
async function insertTexts(value) {
  for (const [name, content] of Object.entries(value)) {
    if (isTextReference(content)) value[name] = await packed("texts", content[TEXT_REFERENCE]);
    else if (content !== null && typeof content === "object") await insertTexts(content);
  }
  return value;
}
async function documentOf(container) {
  if (DATA.live) {
    const answer = await fetch(`episode/${container.dataset.document}`);
    return answer.ok ? answer.json() : null;
  }
  return insertTexts(await packed("documents", Number(container.dataset.document)));
}

// Draws a node of a section, which elements.py defines.
const SPECIAL = { plan: (source) => code(source), chart: (data) => chart(data) };
function draw(node) {
  if (typeof node === "string") return node;
  const [element, ...inside] = node;
  if (Object.hasOwn(SPECIAL, element)) return SPECIAL[element](...inside);
  const [, tag, kind, to] = element.match(/^(\w+)(?:\.([^#]*))?(?:#(.*))?$/);
  return make(TAGS.has(tag) ? tag : "span", { class: kind, href: to && `#${to}`, open: tag === "details" && / open$/.test(kind) }, inside.map(draw));
}
function text(value, kind = "", characters = 1200, lines = 24) {
  if (value.length <= characters && value.split("\n").length <= lines) return make("pre", { class: kind }, value);
  const begin = value.slice(0, 400).split(/\s+/).join(" ").trim().slice(0, 100);
  return details(`long ${kind}`.trim(), [`${begin} … `, make("small", {}, counted(value.length, "character"))], make("pre", {}, value));
}

const episodes = []; // the rows of all runs, in order
const unpacking = new WeakMap();
let currentEpisode = null;

// Draws an episode or another packed document inside its element, the first time that it is opened.
function unpack(container) {
  if (!unpacking.has(container)) unpacking.set(container, drawInside(container));
  return unpacking.get(container).catch((error) => {
    unpacking.delete(container); // so that opening the element again tries again
    throw error;
  });
}
async function drawInside(container) {
  if (container.dataset.document === undefined) return;
  const content = await documentOf(container);
  const fresh = make("div", { class: "inside" }, content && drawDocument(content, container.id));
  const inside = container.querySelector(":scope > .inside");
  if (!inside) container.append(fresh);
  else if (content) updateChildren(inside, fresh);
}
async function show(container) {
  container.hidden = false;
  await unpack(container);
  if ("open" in container) container.open = true;
}
document.addEventListener("toggle", (event) => {
  if (event.target.matches(".episode, .packed") && event.target.open) unpack(event.target);
}, true);

function reveal(element) {
  for (let ancestor = element; ancestor; ancestor = ancestor.parentElement) if (ancestor.matches("details")) ancestor.open = true;
}
async function goTo(id) {
  const container = [...document.querySelectorAll(".episode, .packed")].find((element) => id === element.id || id.startsWith(`${element.id}-`));
  if (container) await show(container);
  const target = document.getElementById(id);
  if (!target) return;
  reveal(target);
  if (target.matches(".steps > li")) selectStep(target);
  if (container) currentEpisode = container;
  target.scrollIntoView({ block: target === container ? "start" : "center" });
  document.querySelector(".linked")?.classList.remove("linked");
  target.classList.add("linked");
}

// Marks a step and the line of the plan that took it, and removes the marks from all other steps and lines.
function selectStep(step) {
  document.querySelector(".steps .at")?.classList.remove("at");
  document.querySelector(".code .now")?.classList.remove("now");
  step.classList.add("at");
  const line = step.closest(".cell")?.querySelector(".code > code")?.children[Number(step.dataset.line) - 1];
  if (!line) return;
  line.classList.add("now");
  const box = line.closest(".code");
  const top = line.getBoundingClientRect().top - box.getBoundingClientRect().top;
  if (top < 0 || top > box.clientHeight - 30) box.scrollTop += top - box.clientHeight / 3;
}
function moveStep(by) {
  const inside = currentEpisode?.open ? currentEpisode : document.querySelector(".episode[open]");
  const steps = [...(inside?.querySelectorAll(".steps > li[id]") ?? [])];
  const at = steps.findIndex((step) => step.classList.contains("at"));
  const next = steps[at < 0 ? (by > 0 ? 0 : steps.length - 1) : at + by];
  if (!next) return;
  currentEpisode = inside;
  reveal(next);
  selectStep(next);
  next.scrollIntoView({ block: "nearest" });
}
document.addEventListener("focusin", (event) => { currentEpisode = event.target.closest(".episode") ?? currentEpisode; });

function moveEpisode(by) {
  const visible = episodes.filter((episode) => !episode.hidden);
  const at = visible.indexOf(currentEpisode);
  const next = at < 0 ? (by > 0 ? visible[0] : visible.at(-1)) : visible[at + by];
  if (!next) return;
  currentEpisode = next;
  const head = next.querySelector(".head");
  head.focus({ preventScroll: true });
  head.scrollIntoView({ block: "nearest" });
}
function leave() {
  if (document.activeElement === searchInput) {
    searchInput.value = "";
    find("");
    searchInput.blur();
  } else document.activeElement?.blur?.();
}
const KEYS = {
  "/": () => { searchInput.focus(); searchInput.select(); },
  j: () => moveEpisode(1),
  k: () => moveEpisode(-1),
  o: () => { if (currentEpisode?.matches("details")) currentEpisode.open = !currentEpisode.open; },
  n: () => jump(1),
  N: () => jump(-1),
  "]": () => moveStep(1),
  "[": () => moveStep(-1),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") leave();
  else if (!event.target.matches("input, select, textarea") && Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
});
document.addEventListener("click", (event) => {
  const at = (selector) => event.target.closest?.(selector);
  if (at(".steps > li[id]") && !at("a, summary")) selectStep(at(".steps > li[id]"));
  currentEpisode = at(".episode") ?? currentEpisode;
});
