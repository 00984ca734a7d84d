"use strict";
// What is packed into the page, and how it is taken out of it: zlib in base64, as packing.py writes it.

async function inflated(data) {
  const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

const CHUNKS = [...document.querySelectorAll("script.texts")];
const CHUNKS_KEPT = 16;
const chunksOpen = new Map();

// The texts of a chunk; those that were used last stay inflated.
function textsOf(chunk) {
  const texts = chunksOpen.get(chunk) ?? inflated(chunk.textContent).then(JSON.parse);
  chunksOpen.delete(chunk);
  chunksOpen.set(chunk, texts);
  if (chunksOpen.size > CHUNKS_KEPT) chunksOpen.delete(chunksOpen.keys().next().value);
  return texts;
}

const firstOf = (chunk) => Number(chunk.dataset.first);

async function textOf(number) {
  const chunk = CHUNKS.findLast((each) => firstOf(each) <= number);
  return (await textsOf(chunk))[number - firstOf(chunk)];
}

// The HTML of the inside of an episode, or null where there is none. Its long texts are left out: see textOf.
function insideOf(anchor) {
  const block = document.getElementById(`${anchor}-packed`);
  return block ? inflated(block.textContent) : null;
}
