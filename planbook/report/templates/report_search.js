// Searching everything: what the page shows, and what is packed into it, block after block.

const bar = document.querySelector(".bar");
const searched = bar.elements.search;
const told = bar.querySelector("output");
const WAIT = 250;
const SLICE = 25;
let hits = [];
let place = { holder: -1, hit: -1 };
let search = 0;

const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'" };
const textIn = (html) => html.replace(/<[^>]*>/g, "").replace(/&(?:amp|lt|gt|#34|#39);/g, (each) => ENTITIES[each]);

function count(text, word) {
  let found = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) found += 1;
  return found;
}

// Lets the page breathe between slices of work; says whether somebody searches for something else by now.
function slices(own) {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun > SLICE) {
      await new Promise((resume) => setTimeout(resume));
      begun = performance.now();
    }
    return own !== search;
  };
}

async function find(word) {
  const over = slices((search += 1));
  clear();
  if (!word) return;
  const inTexts = new Map();
  for (const chunk of CHUNKS) {
    if (await over()) return;
    const texts = JSON.parse(await inflated(chunk.textContent));
    texts.forEach((text, number) => {
      const found = count(text.toLowerCase(), word);
      if (found) inTexts.set(firstOf(chunk) + number, found);
    });
  }
  const parts = [...document.querySelectorAll("main > header, main > section, .run > header, .run > section:not(.outside, .all-episodes), .packed, .episode")];
  for (const [number, part] of parts.entries()) {
    if (await over()) return;
    const found = await countIn(part, word, inTexts);
    if (found) take(part, found);
    if (number % 20 === 0 || number + 1 === parts.length) tell(number + 1 < parts.length);
  }
}

async function countIn(part, word, inTexts) {
  const inside = part.matches(".packed, .episode") ? await insideOf(part.id) : null;
  if (inside === null) return count(wordsIn(part).text, word);
  let found = count(wordsIn(part.firstElementChild).text, word) + count(textIn(inside).toLowerCase(), word);
  for (const [, number] of inside.matchAll(/ data-text="(\d+)"/g)) found += inTexts.get(Number(number)) ?? 0;
  return found;
}

function take(part, found) {
  hits.push({ part, found });
  if (part.matches(".episode")) part.querySelector(".head > .small").dataset.hits = found;
  part.classList.add("hit");
  bar.classList.add("found");
}

function tell(going) {
  const all = hits.reduce((sum, each) => sum + each.found, 0);
  const inside = hits.filter((each) => each.part.matches(".episode")).length;
  const at = place.holder < 0 ? "" : `${hits.slice(0, place.holder).reduce((sum, each) => sum + each.found, 0) + place.hit + 1} of `;
  const number = (value) => value.toLocaleString("en");
  told.textContent = `${at}${number(all)} ${all === 1 ? "hit" : "hits"}, ${number(inside)} ${inside === 1 ? "episode" : "episodes"}${going ? " …" : ""}`;
}

function clear() {
  for (const each of hits) {
    each.part.classList.remove("hit");
    delete each.part.querySelector(".head > .small")?.dataset.hits;
  }
  hits = [];
  bar.classList.remove("found");
  place = { holder: -1, hit: -1 };
  told.textContent = "";
  globalThis.CSS.highlights?.clear();
}

const DATA = "script, style, noscript";

// What a part of the page shows, as one text in lower case, and where in it each of its text nodes begins.
function wordsIn(part) {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let text = "";
  while (walker.nextNode()) {
    if (walker.currentNode.parentElement.matches(DATA)) continue;
    nodes.push({ node: walker.currentNode, from: text.length });
    text += walker.currentNode.data.toLowerCase();
  }
  return { text, nodes };
}

// Where a word stands in a part of the page, as ranges, in the order of reading.
function rangesIn(part, word) {
  const { text, nodes } = wordsIn(part);
  const spot = (at) => {
    const found = nodes.findLast((each) => each.from <= at);
    return [found.node, at - found.from];
  };
  const ranges = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    const range = new Range();
    range.setStart(...spot(at));
    range.setEnd(...spot(at + word.length - 1).map((each, number) => (number ? each + 1 : each)));
    ranges.push(range);
  }
  return ranges;
}

async function jump(by) {
  if (!hits.length) return;
  const word = searched.value.trim().toLowerCase();
  let { holder, hit } = place;
  if (holder < 0) [holder, hit] = by > 0 ? [0, -1] : [hits.length - 1, hits.at(-1).found];
  hit += by;
  if (hit < 0 || hit >= hits[holder].found) {
    holder = (holder + by + hits.length) % hits.length;
    hit = by > 0 ? 0 : hits[holder].found - 1;
  }
  const { part } = hits[holder];
  if (part.matches(".packed, .episode")) await show(part);
  const ranges = rangesIn(part, word);
  const range = ranges[Math.min(hit, ranges.length - 1)];
  place = { holder, hit };
  tell(false);
  if (!range) return;
  const element = range.startContainer.parentElement;
  reveal(element);
  if (part.matches(".episode")) here = part;
  if (globalThis.CSS.highlights) {
    CSS.highlights.set("hits", new Highlight(...ranges));
    CSS.highlights.set("hit", new Highlight(range));
  }
  const box = range.getBoundingClientRect();
  scrollBy({ top: box.top - innerHeight / 3 });
}

let waiting = 0;
bar.addEventListener("submit", (event) => {
  event.preventDefault();
  jump(1);
});
bar.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => find(searched.value.trim().toLowerCase()), WAIT);
});
bar.addEventListener("click", (event) => {
  if (event.target.dataset.hit) jump(Number(event.target.dataset.hit));
});
bar.hidden = false;
