// Draws charts as SVG from the data that charts.py makes, and shows the same numbers as a table.

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== "") element.setAttribute(name, value);
  element.append(...children.flat(Infinity).filter((each) => each || each === 0));
  return element;
}

const WIDTH = 360;
const COUNT = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact" });
const FORMS = { percent: (value) => `${(100 * value).toFixed(1)}%`, count: (value) => COUNT.format(value) };
const tick = (form, value) => (form === "percent" ? `${Math.round(100 * value)}%` : SHORT.format(value));
const hueOf = (hue, number) => `var(--c${(hue ?? number) % 8})`;
const tip = (...words) => svg("title", {}, words.filter(Boolean).join(": "));
const cut = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

// Returns round numbers from 0 to at least the greatest value.
function ticksUpTo(most, form) {
  if (form === "percent") return [0, 0.25, 0.5, 0.75, 1];
  const rough = (most || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, Math.round([1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough)));
  return Array.from({ length: Math.ceil((most || 1) / step) + 1 }, (_, number) => number * step);
}

// Draws horizontal bars with their names on the left. The bars of several runs are drawn one below the other.
function barsOf({ names, series, form }) {
  const left = 128;
  const ticks = ticksUpTo(Math.max(...series.flatMap((each) => each.values)), form);
  const x = (value) => left + ((WIDTH - left - 14) * value) / ticks.at(-1);
  const parts = [];
  let y = 6;
  names.forEach((name, at) => {
    const shown = series.filter((each) => each.values[at] !== null);
    parts.push(svg("text", { x: left - 8, y: y + shown.length * 7 + 4, "text-anchor": "end" }, cut(name, 21), tip(name)));
    for (const each of shown) {
      const value = each.values[at];
      const words = tip(name, each.name, `${each.tips[at]} ${FORMS[form](value)}`);
      parts.push(svg("rect", { class: "bar-of", x: left, y: y + 1, width: Math.max(x(value) - left, 0.5), height: 12, fill: hueOf(each.hue) }, words));
      if (each.bounds[at]) parts.push(whisker(x(each.bounds[at][0]), y + 7, x(each.bounds[at][1]), y + 7));
      y += 14;
    }
    y += 8;
  });
  return { parts, height: y + 16, grid: ticks.map((each) => [x(each), tick(form, each)]), bottom: y };
}
const whisker = (x1, y1, x2, y2) => [svg("line", { class: "whisker-back", x1, y1, x2, y2 }), svg("line", { class: "whisker", x1, y1, x2, y2 })];

// Draws lines over a numeric axis.
function linesOf({ series, form, over, steps }) {
  const [left, bottom] = [38, 150];
  const points = series.flatMap((each) => each.points);
  const [low, high] = [Math.min(...points.map(([at]) => at)), Math.max(...points.map(([at]) => at))];
  const ticks = ticksUpTo(Math.max(...points.map(([, value]) => value)), form);
  const x = (at) => left + 6 + ((WIDTH - left - 18) * (at - low)) / (high - low || 1);
  const y = (value) => bottom - ((bottom - 10) * value) / ticks.at(-1);
  const lines = series.map((each, number) => {
    const stroke = hueOf(each.hue, number);
    const path = each.points.map(([at, value], place) => `${place ? (steps ? `H${x(at)}V${y(value)}` : `L${x(at)},${y(value)}`) : `M${x(at)},${y(value)}`}`).join("");
    const few = each.points.length <= 40;
    return [
      svg("path", { class: "line", d: path, stroke, "stroke-dasharray": number % 2 ? "6 3" : undefined }, tip(each.name, FORMS[form](each.points.at(-1)[1]))),
      each.bounds?.map((bound, place) => bound && whisker(x(each.points[place][0]), y(bound[0]), x(each.points[place][0]), y(bound[1]))),
      few && each.points.map(([at, value]) => svg("circle", { cx: x(at), cy: y(value), r: 2.5, fill: stroke }, tip(each.name, `${at}`, FORMS[form](value)))),
    ];
  });
  const parts = [0, 1].map((dashed) => lines.filter((_, number) => number % 2 === dashed)); // both of two equal lines are visible
  const places = [...new Set([low, Math.round((low + high) / 2), high])];
  const labels = places.map((at) => svg("text", { x: x(at), y: bottom + 13, "text-anchor": "middle" }, COUNT.format(at)));
  return { parts: [parts, labels], height: 182, rows: ticks.map((each) => [y(each), tick(form, each)]), left, over };
}

function chart(data) {
  const { parts, height, grid = [], rows = [], bottom, left, over } = { bars: barsOf, lines: linesOf }[data.kind](data);
  const lines = [
    grid.map(([x, words]) => [svg("line", { class: "grid", x1: x, x2: x, y1: 2, y2: bottom }), svg("text", { x, y: bottom + 13, "text-anchor": "middle" }, words)]),
    rows.map(([y, words]) => [svg("line", { class: "grid", x1: left, x2: WIDTH, y1: y, y2: y }), svg("text", { x: left - 5, y: y + 4, "text-anchor": "end" }, words)]),
    over && svg("text", { x: WIDTH / 2, y: height - 4, "text-anchor": "middle" }, over),
  ];
  const legend = data.series.length > 1 && make("ul", { class: "legend" }, data.series.map((each, number) => {
    const swatch = make("i");
    swatch.style.background = hueOf(each.hue, number);
    return make("li", {}, swatch, each.name);
  }));
  const last = data.last ?? (data.kind === "lines" && data.series.length === 1 && FORMS[data.form](data.series[0].points.at(-1)[1]));
  return make("figure", { class: "chart" },
    make("figcaption", {}, data.title, last && [": ", make("b", {}, last)]),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": data.title }, lines, parts), legend,
    details("numbers", "in numbers", block({ block: "table", ...numbersOf(data) })));
}

// Returns the numbers of a chart as a table: about eight points for each line.
function numbersOf({ names, series, form, over }) {
  const head = ["", ...series.map((each) => each.name)];
  if (names) return { head, rows: names.map((name, at) => [name, ...series.map((each) => (each.values[at] === null ? "–" : FORMS[form](each.values[at])))]) };
  const places = [...new Set(series.flatMap((each) => each.points.map(([at]) => at)))].sort((one, other) => one - other);
  const step = Math.ceil(places.length / 8);
  const shown = places.filter((_, number) => number % step === 0 || number + 1 === places.length);
  const valueOf = (each, at) => each.points.find(([place]) => place === at)?.[1];
  return { head: [over, ...head.slice(1)], rows: shown.map((at) => [COUNT.format(at), ...series.map((each) => (valueOf(each, at) === undefined ? "–" : FORMS[form](valueOf(each, at))))]) };
}
