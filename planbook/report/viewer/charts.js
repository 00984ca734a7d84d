// Draws charts as SVG from the data that charts.py makes.

const [WIDTH, HEIGHT] = [360, 182];
const COUNT = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact" });
const FORMATS = { percent: (value) => `${(100 * value).toFixed(1)}%`, count: (value) => COUNT.format(value) };
const tick = (format, value) => (format === "percent" ? `${Math.round(100 * value)}%` : SHORT.format(value));
const colourOf = (number) => `var(--c${number % 8})`;
const tooltip = (...words) => svg("title", {}, words.filter(Boolean).join(": "));

// Returns round numbers from 0 to at least the maximum.
function ticksUpTo(max, format) {
  if (format === "percent") return [0, 0.25, 0.5, 0.75, 1];
  const minStep = (max || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(minStep));
  const step = Math.max(1, Math.round([1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= minStep)));
  return Array.from({ length: Math.ceil((max || 1) / step) + 1 }, (_, number) => number * step);
}

// Draws lines over a numeric axis.
function drawLines({ series, format, axis, steps }) {
  const [left, bottom] = [38, 150];
  const values = series.flatMap(({ points }) => points.map(([, value]) => value));
  const low = Math.min(...series.map(({ points }) => points[0][0]));
  const high = Math.max(...series.map(({ points }) => points.at(-1)[0]));
  const ticks = ticksUpTo(values.reduce((max, value) => Math.max(max, value), 0), format);
  const x = (at) => left + 6 + ((WIDTH - left - 18) * (at - low)) / (high - low || 1);
  const y = (value) => bottom - ((bottom - 10) * value) / ticks.at(-1);
  const lines = series.map(({ name, points, bounds }, number) => {
    const stroke = colourOf(number);
    const path = points.map(([at, value], index) => `${index ? (steps ? `H${x(at)}V${y(value)}` : `L${x(at)},${y(value)}`) : `M${x(at)},${y(value)}`}`).join("");
    const hasDots = points.length <= 40;
    return [
      svg("path", { class: "line", d: path, stroke, "stroke-dasharray": number % 2 ? "6 3" : undefined }, tooltip(name, FORMATS[format](points.at(-1)[1]))),
      bounds?.map((bound, index) => bound && svg("line", { class: "whisker", x1: x(points[index][0]), x2: x(points[index][0]), y1: y(bound[0]), y2: y(bound[1]) })),
      hasDots && points.map(([at, value]) => svg("circle", { cx: x(at), cy: y(value), r: 2.5, fill: stroke }, tooltip(name, `${at}`, FORMATS[format](value)))),
    ];
  });
  const layers = [0, 1].map((dashed) => lines.filter((_, number) => number % 2 === dashed)); // dashed lines on top, so that both of two equal lines are visible
  const labelled = [...new Set([low, Math.round((low + high) / 2), high])];
  const labels = labelled.map((at) => svg("text", { x: x(at), y: bottom + 13, "text-anchor": "middle" }, COUNT.format(at)));
  const grid = ticks.map((value) => [
    svg("line", { class: "grid", x1: left, x2: WIDTH, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, tick(format, value)),
  ]);
  return [grid, svg("text", { x: WIDTH / 2, y: HEIGHT - 4, "text-anchor": "middle" }, axis), layers, labels];
}

function chart(data) {
  const legend = data.series.length > 1 && make("ul", { class: "legend" }, data.series.map(({ name }, number) => {
    const swatch = make("i");
    swatch.style.background = colourOf(number);
    return make("li", {}, swatch, name);
  }));
  const last = data.last ?? (data.series.length === 1 && FORMATS[data.format](data.series[0].points.at(-1)[1]));
  return make("figure", { class: "chart" },
    make("figcaption", {}, data.title, last && [": ", make("b", {}, last)]),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": data.title }, drawLines(data)), legend);
}
