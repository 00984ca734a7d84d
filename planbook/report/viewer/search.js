// Searches the whole page, including the packed documents.

const bar = document.querySelector(".bar");
const searched = bar.elements.search;
const output = bar.querySelector("output");
const WAIT_MS = 250;
const SLICE_MS = 25;
let hits = []; // the parts of the page with hits: the number found in each, and in all parts before it
let current = -1; // the number of the current hit
let search = 0;

const count = (words, word) => words.split(word).length - 1;
const contains = (value, word, inTexts) => (typeof value === "string" ? value.toLowerCase().includes(word)
  : isText(value) ? inTexts.has(value[TEXT])
    : value !== null && typeof value === "object" && Object.entries(value).some(([name, each]) => name.toLowerCase().includes(word) || contains(each, word, inTexts)));

// Returns a function that lets the browser work after each slice of time, and returns true if a newer search has begun.
function slices(own) {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun > SLICE_MS) {
      await new Promise((resume) => setTimeout(resume));
      begun = performance.now();
    }
    return own !== search;
  };
}

async function find(word) {
  const isOver = slices((search += 1));
  clear();
  if (!word) return;
  const inTexts = new Set();
  for (const { script, first } of chunks.texts) {
    if (await isOver()) return;
    (await decompress(script.textContent)).forEach((each, number) => { if (each.toLowerCase().includes(word)) inTexts.add(first + number); });
  }
  const parts = [...document.querySelectorAll("main > header, main > section, .run > header, .run > section:not(.outside, .all-episodes), .packed, .episode")];
  for (const [number, part] of parts.entries()) {
    if (await isOver()) return;
    const found = await countIn(part, word, inTexts);
    if (found) {
      hits.push({ part, found, before: countAll() });
      if (part.matches(".episode")) part.querySelector(".head > .small").dataset.hits = found;
      bar.classList.add("found");
    }
    if (number % 20 === 0 || number + 1 === parts.length) showCounts(number + 1 < parts.length);
  }
}
async function countIn(part, word, inTexts) {
  const { document: number } = part.dataset;
  if (number === undefined) return count(wordsIn(part).text, word);
  const found = count(wordsIn(part.firstElementChild).text, word);
  const content = await packed("documents", Number(number));
  if (!contains(content, word, inTexts)) return found;
  const drawn = make("div", {}, ...drawDocument(await insertTexts(content), part.id));
  return found + count(wordsIn(drawn).text, word);
}
const countAll = () => (hits.length ? hits.at(-1).before + hits.at(-1).found : 0);
function showCounts(going) {
  const inside = hits.filter((each) => each.part.matches(".episode")).length;
  const position = current < 0 ? "" : `${current + 1} of `;
  output.textContent = `${position}${counted(countAll(), "hit")}, ${counted(inside, "episode")}${going ? " …" : ""}`;
}
function clear() {
  for (const each of hits) delete each.part.querySelector(".head > .small")?.dataset.hits;
  hits = [];
  bar.classList.remove("found");
  current = -1;
  output.textContent = "";
  globalThis.CSS.highlights?.clear();
}

// Returns the text of a part of the page in lower case, and the offset of each of its text nodes.
function wordsIn(part) {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let text = "";
  while (walker.nextNode()) {
    if (walker.currentNode.parentElement.matches("script, style, noscript")) continue;
    nodes.push({ node: walker.currentNode, from: text.length });
    text += walker.currentNode.data.toLowerCase();
  }
  return { text, nodes };
}
// Returns the ranges of a word in a part of the page, in reading order.
function rangesIn(part, word) {
  const { text, nodes } = wordsIn(part);
  const spot = (at) => {
    const found = nodes.findLast((each) => each.from <= at);
    return [found.node, at - found.from];
  };
  const ranges = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    const range = new Range();
    const [node, last] = spot(at + word.length - 1);
    range.setStart(...spot(at));
    range.setEnd(node, last + 1);
    ranges.push(range);
  }
  return ranges;
}

async function jump(by) {
  if (!hits.length) return;
  const start = current < 0 && by < 0 ? 0 : current; // the first step backwards leads to the last hit
  current = (start + by + countAll()) % countAll();
  const { part, before } = hits.findLast((each) => each.before <= current);
  if (part.matches(".packed, .episode")) await show(part);
  const ranges = rangesIn(part, searched.value.trim().toLowerCase());
  const range = ranges[Math.min(current - before, ranges.length - 1)];
  showCounts(false);
  if (!range) return;
  reveal(range.startContainer.parentElement);
  if (part.matches(".episode")) here = part;
  if (globalThis.CSS.highlights) {
    CSS.highlights.set("hits", new Highlight(...ranges));
    CSS.highlights.set("hit", new Highlight(range));
  }
  scrollBy({ top: range.getBoundingClientRect().top - innerHeight / 3 });
}

let waiting = 0;
bar.addEventListener("submit", (event) => {
  event.preventDefault();
  jump(1);
});
bar.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => find(searched.value.trim().toLowerCase()), WAIT_MS);
});
bar.addEventListener("click", (event) => { if (event.target.dataset.hit) jump(Number(event.target.dataset.hit)); });
