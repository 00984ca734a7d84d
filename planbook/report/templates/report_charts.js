(() => {
  // The library is unpacked when the first chart comes near the window: until then, and without it, numbers are shown.
  const packed = document.getElementById("drawing-library");
  const figures = [...document.querySelectorAll("figure.chart")];
  if (!packed || !figures.length || !window.DecompressionStream) return;
  const plot = (figure) => figure.querySelector(".plot");
  const show = (drawings) => {
    for (const figure of figures) {
      plot(figure).hidden = !drawings;
      for (const numbers of figure.querySelectorAll(".numbers")) numbers.open = !drawings;
    }
  };

  let library;
  const unpacked = async () => {
    const text = atob(packed.textContent.trim());
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    if (!window.Plotly) throw new Error("the drawing library did not start");
    return window.Plotly;
  };

  // A text that begins with -- names a colour of the page: as the page has it at this moment, in red, green and blue.
  const probe = document.createElement("span");
  const colour = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const coloured = (value) => {
    if (typeof value === "string") return value.startsWith("--") ? colour(value) : value;
    if (Array.isArray(value)) return value.map(coloured);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, coloured(each)]));
  };
  const drawn = new Set();
  const draw = async (figure) => {
    const plotly = await (library ??= unpacked());
    const told = JSON.parse(figure.querySelector("script").textContent);
    figure.append(probe);
    const { data, layout } = coloured(told);
    probe.remove();
    layout.font.family = getComputedStyle(document.body).fontFamily;
    await plotly.react(plot(figure), data, layout, { responsive: true, displayModeBar: false });
    drawn.add(figure);
    figure.dataset.drawn = "yes";
  };
  const failed = (error) => {
    show(false);
    console.error(error);
  };
  // One after the other, with a pause in between, so that the page answers meanwhile.
  let queue = Promise.resolve();
  const pause = () => new Promise((done) => setTimeout(done));
  const enqueue = (figure) => (queue = queue.then(pause).then(() => draw(figure)).catch(failed));
  const redraw = () => drawn.forEach(enqueue);

  show(true);
  const near = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        enqueue(target);
      }
    },
    { rootMargin: "400px" },
  );
  const begin = () => requestAnimationFrame(() => setTimeout(() => figures.forEach((each) => near.observe(each))));
  if (document.readyState === "complete") begin();
  else addEventListener("load", begin);
  addEventListener("themechange", redraw, true); // dispatched on whatever: the window hears it on the way down
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
