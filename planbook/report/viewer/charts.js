// Draws charts as SVG from the data that charts.py makes.

const [WIDTH, HEIGHT] = [360, 182];
const COUNT = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact" });
const FORMS = { percent: (value) => `${(100 * value).toFixed(1)}%`, count: (value) => COUNT.format(value) };
const tick = (form, value) => (form === "percent" ? `${Math.round(100 * value)}%` : SHORT.format(value));
const hueOf = (number) => `var(--c${number % 8})`;
const tip = (...words) => svg("title", {}, words.filter(Boolean).join(": "));

// Returns round numbers from 0 to at least the greatest value.
function ticksUpTo(most, form) {
  if (form === "percent") return [0, 0.25, 0.5, 0.75, 1];
  const rough = (most || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, Math.round([1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough)));
  return Array.from({ length: Math.ceil((most || 1) / step) + 1 }, (_, number) => number * step);
}

// Draws lines over a numeric axis.
function drawLines({ series, form, over, steps }) {
  const [left, bottom] = [38, 150];
  const points = series.flatMap((each) => each.points);
  const [low, high] = [Math.min(...series.map((each) => each.points[0][0])), Math.max(...series.map((each) => each.points.at(-1)[0]))];
  const ticks = ticksUpTo(points.reduce((most, [, value]) => Math.max(most, value), 0), form);
  const x = (at) => left + 6 + ((WIDTH - left - 18) * (at - low)) / (high - low || 1);
  const y = (value) => bottom - ((bottom - 10) * value) / ticks.at(-1);
  const lines = series.map((each, number) => {
    const stroke = hueOf(number);
    const path = each.points.map(([at, value], place) => `${place ? (steps ? `H${x(at)}V${y(value)}` : `L${x(at)},${y(value)}`) : `M${x(at)},${y(value)}`}`).join("");
    const few = each.points.length <= 40;
    return [
      svg("path", { class: "line", d: path, stroke, "stroke-dasharray": number % 2 ? "6 3" : undefined }, tip(each.name, FORMS[form](each.points.at(-1)[1]))),
      each.bounds?.map((bound, place) => bound && svg("line", { class: "whisker", x1: x(each.points[place][0]), x2: x(each.points[place][0]), y1: y(bound[0]), y2: y(bound[1]) })),
      few && each.points.map(([at, value]) => svg("circle", { cx: x(at), cy: y(value), r: 2.5, fill: stroke }, tip(each.name, `${at}`, FORMS[form](value)))),
    ];
  });
  const parts = [0, 1].map((dashed) => lines.filter((_, number) => number % 2 === dashed)); // dashed lines on top, so that both of two equal lines are visible
  const places = [...new Set([low, Math.round((low + high) / 2), high])];
  const labels = places.map((at) => svg("text", { x: x(at), y: bottom + 13, "text-anchor": "middle" }, COUNT.format(at)));
  const grid = ticks.map((each) => [
    svg("line", { class: "grid", x1: left, x2: WIDTH, y1: y(each), y2: y(each) }),
    svg("text", { x: left - 5, y: y(each) + 4, "text-anchor": "end" }, tick(form, each)),
  ]);
  return [grid, svg("text", { x: WIDTH / 2, y: HEIGHT - 4, "text-anchor": "middle" }, over), parts, labels];
}

function chart(data) {
  const legend = data.series.length > 1 && make("ul", { class: "legend" }, data.series.map((each, number) => {
    const swatch = make("i");
    swatch.style.background = hueOf(number);
    return make("li", {}, swatch, each.name);
  }));
  const last = data.last ?? (data.series.length === 1 && FORMS[data.form](data.series[0].points.at(-1)[1]));
  return make("figure", { class: "chart" },
    make("figcaption", {}, data.title, last && [": ", make("b", {}, last)]),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": data.title }, drawLines(data)), legend);
}
