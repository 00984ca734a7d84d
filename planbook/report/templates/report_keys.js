// What keys do, light and dark, and links that can be shared.

const THEME = "planbook-theme";
const kept = { read: () => null, write: () => {} };
try {
  localStorage.getItem(THEME);
  kept.read = () => localStorage.getItem(THEME);
  kept.write = (theme) => localStorage.setItem(THEME, theme);
} catch {
  // where pages of files have no storage, the choice lasts as long as the page
}

// A colour of the page is registered as one: whoever asks for it gets what it is now, in light or dark.
const COLOURS = document.styleSheets[0].cssRules[0].style;
for (const name of COLOURS) {
  if (name.startsWith("--") && CSS.supports("color", COLOURS.getPropertyValue(name))) {
    CSS.registerProperty({ name, syntax: "<color>", inherits: true, initialValue: "gray" });
  }
}

function wear(theme) {
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event("themechange"));
}

function isDark() {
  const worn = document.documentElement.dataset.theme;
  return worn ? worn === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function turn() {
  const theme = isDark() ? "light" : "dark";
  wear(theme);
  kept.write(theme);
}

if (kept.read()) wear(kept.read());

const help = document.querySelector("dialog.help");
const shown = () => episodes.filter((each) => !each.hidden);

function walk(by) {
  const every = shown();
  const at = every.indexOf(here);
  const next = at < 0 ? (by > 0 ? every[0] : every.at(-1)) : every[at + by];
  if (!next) return;
  here = next;
  const head = next.querySelector(".head");
  head.focus({ preventScroll: true });
  head.scrollIntoView({ block: "nearest" });
}

async function copy(name) {
  const link = `${location.href.split("#")[0]}#${name}`;
  history.replaceState(null, "", `#${name}`);
  try {
    await navigator.clipboard.writeText(link);
    say("link copied");
  } catch {
    say("the link stands in the address bar");
  }
}

function say(words) {
  const note = document.createElement("div");
  note.className = "said-so";
  note.setAttribute("role", "status");
  note.textContent = words;
  document.body.append(note);
  setTimeout(() => note.remove(), 1600);
}

function copyHere() {
  const place = here?.querySelector(".steps .at") ?? here;
  if (place?.id) copy(place.id);
}

function toggle() {
  if (here?.matches("details")) here.open = !here.open;
}

function leave() {
  if (help.open) help.close();
  else if (document.activeElement === searched) {
    searched.value = "";
    find("");
    searched.blur();
  } else document.activeElement?.blur?.();
}

const KEYS = {
  "/": () => { searched.focus(); searched.select(); },
  "?": () => help.showModal(),
  j: () => walk(1),
  k: () => walk(-1),
  o: toggle,
  n: () => jump(1),
  N: () => jump(-1),
  "]": () => move(1),
  "[": () => move(-1),
  c: copyHere,
  t: turn,
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
  if (event.target.closest?.("[data-theme-toggle]")) turn();
  if (event.target.closest?.("[data-help]")) help.showModal();
  if (event.target === help) help.close();
  const link = event.target.closest?.("a.link");
  if (link) {
    event.preventDefault();
    copy(link.hash.slice(1));
    go(link.hash.slice(1));
  }
});
