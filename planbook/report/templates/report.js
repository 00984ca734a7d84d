// The page as it opens: contents, and the place that its address names.

for (const run of document.querySelectorAll(".run")) {
  const contents = run.querySelector(".contents");
  for (const title of run.querySelectorAll(":scope > section > h3")) {
    title.id ||= `${run.id}-${title.textContent.trim().toLowerCase().replace(/\W+/g, "-")}`;
    const link = document.createElement("a");
    link.href = `#${title.id}`;
    link.textContent = title.textContent;
    contents?.append(link);
  }
}

const named = () => decodeURIComponent(location.hash.slice(1));
addEventListener("hashchange", () => go(named()));
if (location.hash) go(named());
