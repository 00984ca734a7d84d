// Opening episodes, finding places inside them, and the steps beside the lines that took them.

const episodes = [...document.querySelectorAll(".episode")];
const unpacking = new WeakMap();

// Puts the inside of an episode, or of what else is packed, where it belongs; once, however often it is asked for.
function unpack(holder) {
  if (!unpacking.has(holder)) unpacking.set(holder, fill(holder));
  return unpacking.get(holder);
}

async function fill(holder) {
  const inside = holder.querySelector(":scope > .inside");
  const html = inside && (await insideOf(holder.id));
  if (!html) return;
  const parsed = document.createElement("template");
  parsed.innerHTML = html;
  const places = [...parsed.content.querySelectorAll("[data-text]")];
  const texts = await Promise.all(places.map((place) => textOf(Number(place.dataset.text))));
  places.forEach((place, number) => { place.textContent = texts[number]; });
  inside.replaceChildren(parsed.content);
}

async function show(holder) {
  if (holder.hidden) holder.hidden = false;
  await unpack(holder);
  if ("open" in holder) holder.open = true;
}

document.addEventListener("toggle", (event) => {
  if (event.target.matches(".episode, .packed") && event.target.open) unpack(event.target);
}, true);

function reveal(element) {
  for (let each = element.parentElement; each; each = each.parentElement) if ("open" in each && each.matches("details")) each.open = true;
  if (element.matches("details")) element.open = true;
}

// Goes to a place by its name, opening what it is in.
async function go(name) {
  const holder = [...document.querySelectorAll(".episode, .packed")].find((each) => name === each.id || name.startsWith(`${each.id}-`));
  if (holder) await show(holder);
  const place = document.getElementById(name);
  if (!place) return;
  reveal(place);
  if (place.matches("[data-line], .steps > li")) stand(place);
  if (holder) here = holder;
  place.scrollIntoView({ block: place === holder ? "start" : "center" });
  document.querySelector(".linked")?.classList.remove("linked");
  place.classList.add("linked");
}

let here = null;

function lineOf(step) {
  const code = step.closest(".cell")?.querySelector(".code > code");
  return code?.children[Number(step.dataset.line) - 1];
}

// Marks the line that took a step, and nothing else in its cell.
function mark(step, kind) {
  for (const each of document.querySelectorAll(`.code .${kind}`)) each.classList.remove(kind);
  const line = step && lineOf(step);
  if (!line) return;
  line.classList.add(kind);
  const code = line.closest(".code");
  const top = line.getBoundingClientRect().top - code.getBoundingClientRect().top;
  if (top < 0 || top > code.clientHeight - 30) code.scrollTop += top - code.clientHeight / 3;
}

// Stands at a step: it and its line stay marked until another one is gone to.
function stand(step) {
  document.querySelector(".steps .at")?.classList.remove("at");
  step.classList.add("at");
  mark(step, "now");
}

function move(by) {
  const inside = here?.open ? here : document.querySelector(".episode[open]");
  if (!inside) return;
  const steps = [...inside.querySelectorAll(".steps > li")];
  const at = steps.findIndex((each) => each.classList.contains("at"));
  const next = steps[at < 0 ? (by > 0 ? 0 : steps.length - 1) : at + by];
  if (!next) return;
  here = inside;
  reveal(next);
  stand(next);
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("mouseover", (event) => {
  const step = event.target.closest?.(".steps > li");
  if (step) mark(step, "near");
});

// A line that took steps leads to the first of them, and then to the next.
document.addEventListener("click", (event) => {
  const line = event.target.closest?.(".code [data-steps]");
  if (line) {
    const number = [...line.parentElement.children].indexOf(line) + 1;
    const steps = [...line.closest(".cell").querySelectorAll(`.steps > [data-line="${number}"]`)];
    const next = steps[(steps.findIndex((each) => each.classList.contains("at")) + 1) % steps.length];
    stand(next);
    next.scrollIntoView({ block: "nearest" });
  }
  const step = event.target.closest?.(".steps > li");
  if (step && !event.target.closest("a, summary")) stand(step);
  const episode = event.target.closest?.(".episode");
  if (episode) here = episode;
});
