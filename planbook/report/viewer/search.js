// Searches the whole page, including the packed documents.

const searchBar = document.querySelector(".bar");
const searchInput = searchBar.elements.search;
const output = searchBar.querySelector("output");
const WAIT_MS = 250;
const SLICE_MS = 25;
let hits = []; // the parts of the page with hits, each with its number of hits, and the number in all parts before it
let current = -1; // the number of the current hit, or -1
let searchNumber = 0;

const countWord = (text, word) => text.split(word).length - 1;
const contains = (value, word, textsWithWord) => (typeof value === "string" ? value.toLowerCase().includes(word)
  : isTextReference(value) ? textsWithWord.has(value[TEXT_REFERENCE])
    : value !== null && typeof value === "object" && Object.entries(value).some(([name, content]) => name.toLowerCase().includes(word) || contains(content, word, textsWithWord)));

// Returns a function that lets the browser work if SLICE_MS have passed, and returns true if a newer search has begun.
function checkpoint(number) {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun > SLICE_MS) {
      await new Promise((resume) => setTimeout(resume));
      begun = performance.now();
    }
    return number !== searchNumber;
  };
}

async function find(word) {
  const isOutdated = checkpoint((searchNumber += 1));
  clear();
  if (!word) return;
  const textsWithWord = new Set();
  for (const { script, first } of chunks.texts) {
    if (await isOutdated()) return;
    (await decompress(script.textContent)).forEach((text, number) => { if (text.toLowerCase().includes(word)) textsWithWord.add(first + number); });
  }
  const parts = [...document.querySelectorAll("main > header, main > section, .run > header, .run > section:not(.outside, .all-episodes), .packed, .episode")];
  for (const [number, part] of parts.entries()) {
    if (await isOutdated()) return;
    const count = await countHits(part, word, textsWithWord);
    if (count) {
      hits.push({ part, count, before: countAll() });
      if (part.matches(".episode")) part.querySelector(".head > .small").dataset.hits = count;
      searchBar.classList.add("found");
    }
    if (number % 20 === 0 || number + 1 === parts.length) showCounts(number + 1 < parts.length);
  }
}
async function countHits(part, word, textsWithWord) {
  const { document: number } = part.dataset;
  if (number === undefined) return countWord(wordsIn(part).text, word);
  const inSummary = countWord(wordsIn(part.firstElementChild).text, word);
  const content = await packed("documents", Number(number));
  if (!contains(content, word, textsWithWord)) return inSummary;
  const drawn = make("div", {}, ...drawDocument(await insertTexts(content), part.id));
  return inSummary + countWord(wordsIn(drawn).text, word);
}
const countAll = () => (hits.length ? hits.at(-1).before + hits.at(-1).count : 0);
function showCounts(isSearching) {
  const episodeCount = hits.filter(({ part }) => part.matches(".episode")).length;
  const position = current < 0 ? "" : `${current + 1} of `;
  output.textContent = `${position}${counted(countAll(), "hit")}, ${counted(episodeCount, "episode")}${isSearching ? " …" : ""}`;
}
function clear() {
  for (const { part } of hits) delete part.querySelector(".head > .small")?.dataset.hits;
  hits = [];
  searchBar.classList.remove("found");
  current = -1;
  output.textContent = "";
  globalThis.CSS.highlights?.clear();
}

// Returns the lower-case text of a part of the page, and its text nodes with their offsets.
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
  const positionAt = (offset) => {
    const { node, from } = nodes.findLast((entry) => entry.from <= offset);
    return [node, offset - from];
  };
  const ranges = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    const range = new Range();
    const [node, last] = positionAt(at + word.length - 1);
    range.setStart(...positionAt(at));
    range.setEnd(node, last + 1);
    ranges.push(range);
  }
  return ranges;
}

async function jump(by) {
  if (!hits.length) return;
  const start = current < 0 && by < 0 ? 0 : current; // the first step backwards leads to the last hit
  current = (start + by + countAll()) % countAll();
  const { part, before } = hits.findLast((hit) => hit.before <= current);
  if (part.matches(".packed, .episode")) await show(part);
  const ranges = rangesIn(part, searchInput.value.trim().toLowerCase());
  const range = ranges[Math.min(current - before, ranges.length - 1)];
  showCounts(false);
  if (!range) return;
  reveal(range.startContainer.parentElement);
  if (part.matches(".episode")) currentEpisode = part;
  if (globalThis.CSS.highlights) {
    CSS.highlights.set("hits", new Highlight(...ranges));
    CSS.highlights.set("hit", new Highlight(range));
  }
  scrollBy({ top: range.getBoundingClientRect().top - innerHeight / 3 });
}

let searchTimer = 0;
searchBar.addEventListener("submit", (event) => {
  event.preventDefault();
  jump(1);
});
searchBar.addEventListener("input", () => {
  clearTimeout(searchTimer);
  searchTimer = setTimeout(() => find(searchInput.value.trim().toLowerCase()), WAIT_MS);
});
searchBar.addEventListener("click", (event) => { if (event.target.dataset.hit) jump(Number(event.target.dataset.hit)); });
