// Draws the document of an episode: the trajectory of each play (an attempt at the task), and the records between plays.
// Spans are drawn as a tree, with their name, title, status and payload.

const GOOD_STATUSES = new Set(["done", "kept", "over", "solved"]);
const BAD_STATUSES = new Set(["failed"]);
const PLAIN_STATUSES = new Set(["skipped", "not tried"]);
const kindOf = (status) => (GOOD_STATUSES.has(status) ? "good" : BAD_STATUSES.has(status) ? "error" : PLAIN_STATUSES.has(status) || !status ? "plain" : "mixed");
const badge = (status, kind = kindOf(status)) => make("span", { class: `kind ${kind}` }, status);
const flag = (label) => label && [" ", make("small", { class: "flag" }, label)];
const linkTo = (id, text, label) => make("a", { class: "link", href: `#${id}`, "aria-label": label }, text);
const NOTE_FIELDS = ["note", "history", "why", "reason"]; // fields of a payload that hold a sentence about the result

const KEYWORDS = "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False";
const TOKEN = new RegExp([
  "(?<comment>#.*)", "(?<string>\\b[rbfuRBFU]{0,2}(?:\"{3}[^]*?(?:\"{3}|$)|'{3}[^]*?(?:'{3}|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?)|[\"'](?:\\\\.|[^\"'\\\\\\n])*[\"']?)",
  "(?<number>\\b\\d[\\w.]*)", `(?<keyword>\\b(?:${KEYWORDS.replaceAll(" ", "|")})\\b)`, "(?<call>\\b[A-Za-z_]\\w*(?=\\())", "[A-Za-z_]\\w*",
].join("|"), "g");
// Returns the lines of plan code, each as a list of texts and elements with syntax colours.
function colouredLines(source) {
  const lines = [[]];
  const add = (text, kind) => text.split("\n").forEach((part, number) => {
    if (number) lines.push([]);
    if (part) lines.at(-1).push(kind ? make("i", { class: kind }, part) : part);
  });
  let at = 0;
  for (const token of source.matchAll(TOKEN)) {
    add(source.slice(at, token.index));
    add(token[0], Object.entries(token.groups).find(([, value]) => value !== undefined)?.[0]);
    at = token.index + token[0].length;
  }
  add(source.slice(at));
  return lines;
}
function code(source, faultyLines = new Set(), lastLine = 0) {
  const lines = colouredLines(source.replace(/\n+$/, "")).map((parts, number) => make("span", {
    class: faultyLines.has(number + 1) ? "bad" : number + 1 === lastLine && "last",
  }, parts, "\n"));
  return make("pre", { class: "code", tabindex: 0 }, make("code", {}, lines));
}

// A scope with its content. Inner scopes are sections of this scope, in the order in which they began.
class Box {
  constructor(scope, body) { Object.assign(this, { scope, body, inner: new Map(), spans: [], codes: new Set() }); }
  boxOf(scope) {
    if (this.scope && !scope.startsWith(`${this.scope}/`)) return this;
    const [name, number] = scope.slice(this.scope ? this.scope.length + 1 : 0).split("/");
    if (!name) return this;
    const below = number === undefined ? name : `${name}/${number}`;
    const path = this.scope ? `${this.scope}/${below}` : below;
    if (!this.inner.has(path)) {
      const body = make("section", { class: "scope" }, make("h4", {}, make("code", {}, below)));
      this.body.append(body);
      this.inner.set(path, new Box(path, body));
    }
    return this.inner.get(path).boxOf(scope);
  }
}

function drawDocument({ task, parts }, anchor) {
  const root = new Box(task.path ?? "", make("div"));
  const count = { step: 0, cell: 0, ask: 0, span: 0 };
  const context = { anchor, task, asked: new Map(), next: (name) => `${anchor}-${name}-${name === "step" ? ++count.step : count[name]++}`, count };
  if (task.task) {
    const facts = [", type ", task.type, ", split ", task.split, ", seed ", String(task.seed), "; in the store under "];
    root.body.append(make("p", { class: "facts" }, "task ", make("code", {}, task.task), facts, make("code", {}, task.path), " ", linkTo(anchor, "link")));
  }
  for (const part of parts) {
    if (part.play !== undefined) drawPlay(part, root.boxOf(part.play), context);
    else root.boxOf(part.scope).body.append(part.call ? drawCall(part.call, part.scope, context) : drawRecord(part));
  }
  return root.body.childNodes.length ? [...root.body.childNodes] : [make("p", { class: "note" }, "nothing")];
}
function drawRecord({ kind, n, body }) {
  const words = typeof body === "string" ? body : JSON.stringify(body, null, 2);
  return details("noted", [kind, n ? ` ${n}` : ""], make("pre", {}, words));
}

function drawPlay(play, root, context) {
  const items = [];
  const add = (order, scope, draw, span) => items.push({ order: order ?? 0, scope: scope ? `${play.play}/${scope}` : play.play, draw, span });
  if (play.recall) root.body.append(drawRecall(play.recall));
  for (const round of play.rounds ?? []) {
    const scope = `round/${round.number ?? 0}`;
    add(round.order, scope, () => make("div", { class: "began" }, make("p", {}, make("b", {}, (round.task ?? context.task).goal || "no goal")), text(round.observation ?? "")));
    for (const cell of round.cells ?? []) {
      const steps = (round.steps ?? []).filter((step) => step.scope === cell.scope && step.cell === cell.number);
      add(steps[0]?.order ?? cell.order, cell.scope, (box) => {
        box.codes.add(cell.code?.trim());
        return drawCell(cell, steps, context);
      });
    }
    for (const rewind of round.rewinds ?? []) {
      add(rewind.order, rewind.scope, () => make("p", { class: "note rewound" }, `Rewound: the environment and the plan's variables are as they were after ${counted(rewind.kept ?? 0, "action")} of this round.`));
    }
  }
  for (const call of play.calls ?? []) add(call.order, call.scope, () => drawCall(call, call.scope, context));
  for (const span of play.spans ?? []) add(span.order, span.scope, null, span);
  let open = [];
  const boxes = new Set([root]);
  const spanScopes = new Set(); // scopes that belong to a single span
  for (const { order, scope, draw, span } of items.sort((one, other) => one.order - other.order)) {
    open = open.filter(({ span: { end } }) => end === undefined || end > order);
    const enclosing = open.findLast((branch) => `${scope}/`.startsWith(`${branch.box.scope}/`))?.box ?? root;
    if (draw) {
      enclosing.boxOf(scope).body.append(draw(enclosing));
      continue;
    }
    const isMoment = span.end === span.order;
    const box = enclosing.boxOf(isMoment && !spanScopes.has(scope) ? scope : scope.split("/").slice(0, -2).join("/"));
    const branch = { span, id: context.next("span"), box: new Box(scope, make("div", { class: "in-span" })) };
    branch.placeholder = document.createComment("");
    box.body.append(branch.placeholder);
    box.spans.push(branch);
    boxes.add(box).add(branch.box);
    if (isMoment) continue;
    open.push(branch);
    spanScopes.add(scope);
  }
  for (const box of [...boxes].reverse()) placeSpans(box);
  const { ending } = play;
  if (ending) {
    const cause = ending.cause && !["not_judged", ending.outcome].includes(ending.cause) && `; ${ending.cause.replaceAll("_", " ")}`;
    root.body.append(make("p", { class: "note ended" }, make("b", { class: `outcome ${ending.outcome}` }, ending.outcome.replaceAll("_", " ")),
      ` after ${counted(ending.actions ?? 0, "action")}, ${counted(ending.error_steps ?? 0, "error step")}, score ${ending.verdict?.score ?? 0}`, cause, ending.message && `: ${ending.message}`));
  }
}

// Places the spans of a box where they began. Spans with a parent become a tree; spans that name their sources also get a graph.
function placeSpans({ body, spans }) {
  const isNode = ({ span: { data = {} } }) => Number.isInteger(data.number) && data.parent !== undefined;
  for (const branch of spans.filter((span) => !isNode(span))) branch.placeholder.replaceWith(drawSpan(branch));
  const nodes = spans.filter(isNode);
  if (nodes.length) {
    const numbers = new Set(nodes.map(({ span }) => span.data.number));
    const starts = new Set(nodes.map(({ span }) => (numbers.has(span.data.parent) ? null : span.data.parent ?? null)));
    const seen = new Set();
    nodes[0].placeholder.replaceWith(make("ul", { class: "tree" }, [...starts].flatMap((start) => drawTree(nodes, start, seen))));
    for (const node of nodes) node.placeholder.remove();
  }
  const graph = drawGraph(spans);
  const title = body.querySelector(":scope > h4");
  if (graph && title) title.after(graph);
  else if (graph) body.prepend(graph);
}

// Draws a search tree: the nodes of the chosen path on one level, among them the rejected nodes where they were tried, with their
// descendants inside.
function drawTree(nodes, start, seen) {
  const items = [];
  for (let state = start; !seen.has(state);) {
    seen.add(state);
    const tried = nodes.filter(({ span }) => (span.data.parent ?? null) === state && !seen.has(span.data.number));
    const chosen = tried.findLast(({ span }) => GOOD_STATUSES.has(span.status)) ?? tried.filter(({ span }) => !PLAIN_STATUSES.has(span.status)).slice(-1)
      .find(({ span }) => nodes.some((node) => node.span.data.parent === span.data.number));
    const rank = (node) => (node === chosen ? 1 : PLAIN_STATUSES.has(node.span.status) ? 2 : 0);
    for (const node of tried.sort((one, other) => rank(one) - rank(other))) {
      const inside = node === chosen ? [] : drawTree(nodes, node.span.data.number, seen);
      items.push(make("li", {}, drawSpan(node), inside.length > 0 && make("ul", { class: "tree" }, inside)));
    }
    if (chosen) state = chosen.span.data.number;
  }
  return items;
}

function drawSpan({ span, id, box }) {
  const data = span.data ?? {};
  const status = span.status || (span.end === undefined ? "open" : "");
  const note = NOTE_FIELDS.map((name) => data[name]).find((each) => typeof each === "string" && each);
  const fullTitle = span.title || Object.values(data).filter((each) => typeof each === "string" && each).slice(0, 2).join(": ");
  const title = fullTitle.length > 140 ? `${fullTitle.slice(0, 139)}…` : fullTitle;
  const alreadyShown = new Set([status, note, ...box.codes]);
  const summary = [status && [badge(status, status === "open" ? "mixed" : kindOf(status)), " "], make("b", {}, title), flag(span.name),
    data.lasting === true && flag("lasting"), note && make("span", { class: "history" }, note)];
  const inside = [...payload(data, title, alreadyShown), ...box.body.childNodes];
  const kind = `span ${kindOf(status)}${PLAIN_STATUSES.has(status) ? " idle" : ""}`;
  if (!inside.length) return make("p", { class: kind, id }, summary);
  const calls = [...box.body.querySelectorAll(":scope > .asked > summary .reply-begins")].map((reply) => make("li", {}, reply.previousElementSibling.cloneNode(true), " ", reply.cloneNode(true)));
  const element = details(kind, summary, inside);
  element.id = id;
  element.open = status === "open" || inside.some((each) => each.matches(".spanned, .span, .tree"));
  return make("div", { class: "spanned" }, element, calls.length > 0 && make("ul", { class: "glance" }, calls));
}

// Draws the payload of a span or of a recall: short values on one line; texts, code, lists and tables below it.
function* payload(data, title = "", alreadyShown = new Set()) {
  const isDrawn = ([name, value]) => !["title", "done", "number", "layer", "skipped"].includes(name) && (value || (name === "answer" && value !== null && value !== "")) && !(typeof value === "object" && !Object.keys(value).length)
    && !title.includes(String(value)) && !alreadyShown.has(typeof value === "string" ? value.trim() : value);
  const entries = Object.entries(data).filter(isDrawn);
  const plain = (value) => typeof value !== "object" && !(typeof value === "string" && (value.length > 80 || value.includes("\n")));
  const isShort = ([, value]) => plain(value) || (Array.isArray(value) && value.every(plain) && value.join(", ").length < 80);
  const short = entries.filter(isShort).map(([name, value]) => `${name.replaceAll("_", " ")}: ${[value].flat().join(", ")}`);
  if (short.length) yield make("p", { class: "facts" }, short.join(" · "));
  for (const [name, value] of entries.filter((each) => !isShort(each))) {
    yield make("h5", { class: "field" }, name.replaceAll("_", " "));
    if (typeof value === "string") yield name === "code" || (/\bagent\.\w+\(.*\)$/m.test(value) && !value.includes("```")) ? code(value) : text(value, "field", 600, 12);
    else if (Array.isArray(value) && value.every((each) => typeof each === "string")) yield make("ol", { class: "plan" }, value.map((each) => make("li", {}, each.includes("\n") ? code(each) : each)));
    else if (Array.isArray(value)) yield text(JSON.stringify(value, null, 2), "field", 600, 12);
    else yield make("div", { class: "in-span" }, ...payload(value, title, alreadyShown));
  }
}

// Draws the graph of spans that name their sources (``of``), with a row for each layer.
function drawGraph(spans) {
  const nodes = new Map(spans.filter(({ span }) => Array.isArray(span.data?.of)).map((each) => [each.span.data.node ?? each.span.title, each]));
  const edges = [...nodes].flatMap(([name, { span }]) => span.data.of.filter((from) => nodes.has(from)).map((from) => [from, name]));
  if (!edges.length) return null;
  const layers = Map.groupBy(nodes.keys(), (name) => nodes.get(name).span.data.layer ?? 0);
  const widthOf = (names) => 7 * names.join("").length + 30 * names.length;
  const width = Math.max(...[...layers.values()].map(widthOf));
  const centres = new Map();
  [...layers.keys()].sort((one, other) => one - other).forEach((layer, row) => {
    const names = layers.get(layer);
    let x = (width - widthOf(names)) / 2;
    for (const name of names) {
      centres.set(name, { x: x + widthOf([name]) / 2, y: row * 56 + 20 });
      x += widthOf([name]);
    }
  });
  const lines = edges.map(([from, to]) => {
    const [a, b] = [centres.get(from), centres.get(to)];
    return svg("path", { class: "edge", d: `M${a.x},${a.y + 12} C${a.x},${a.y + 34} ${b.x},${b.y - 34} ${b.x},${b.y - 12}` });
  });
  const boxes = [...nodes].map(([name, { span, id }]) => svg("a", { href: `#${id}`, class: PLAIN_STATUSES.has(span.status) ? "idle" : "" },
    svg("rect", { x: centres.get(name).x - widthOf([name]) / 2 + 6, y: centres.get(name).y - 12, width: widthOf([name]) - 12, height: 24, rx: 5 }),
    svg("text", { x: centres.get(name).x, y: centres.get(name).y + 4, "text-anchor": "middle" }, name)));
  return details("noted graph", `graph of ${counted(nodes.size, "node")}`, make("div", { class: "wide" },
    svg("svg", { viewBox: `0 0 ${width} ${layers.size * 56}`, style: `width: ${width}px; max-width: 100%` }, lines, boxes)));
}

function drawRecall({ order, data, ...parts }) {
  const inside = [...payload(parts)];
  return details("noted", ["recall", inside.length ? "" : [" ", make("small", {}, "nothing")]], inside);
}

// Returns the YES or NO at the start of a reply or of one of its lines ("" if there is none), and the beginning of the reply.
function answerIn(reply) {
  if (reply.includes("```")) return ["", ""]; // code, which is shown in its cell
  const lines = reply.split("\n").map((each) => each.replace(/^[\s#*_`>-]+|[\s*_`]+$/g, "")).filter(Boolean);
  const verdict = lines.map((each) => each.match(/^(?:\w+: *)?(YES|NO)\b[.!:,]?(?:$| )/)?.[1]).find(Boolean) ?? "";
  const opening = lines.find((line) => line.replace(/\W/g, "").length > 3) ?? verdict;
  return [verdict, opening === verdict ? "" : opening.slice(0, 180)];
}

// Draws a prompt and its reply. Messages that the previous call of the scope already contained are not repeated.
function drawCall(call, scope, context) {
  const id = context.next("ask");
  const { reply, sampling = {} } = call;
  const usage = { prompt: 0, completion: 0, ...reply.usage };
  const key = ({ role, content }) => `${role}\n${content}`;
  const earlierMessages = context.asked.get(scope) ?? new Map();
  const allMessages = new Map();
  const messages = (call.messages ?? []).map((message, number) => {
    const earlierId = earlierMessages.get(key(message));
    allMessages.set(key(message), earlierId ?? `${id}-${number}`);
    if (earlierId) return make("p", { class: "message before" }, make("b", {}, message.role), " ", make("a", { href: `#${earlierId}` }, "as before"), " ", make("small", {}, counted(message.content.length, "character")));
    return make("div", { class: "message", id: `${id}-${number}` }, make("b", {}, message.role), make("pre", {}, message.content));
  });
  allMessages.set(key({ role: "assistant", content: reply.text }), `${id}-reply`);
  context.asked.set(scope, allMessages);
  const finish = reply.finish ?? "stop";
  const notes = [`${usage.prompt.toLocaleString("en")} + ${usage.completion.toLocaleString("en")} tokens`, usage.estimated && "estimated", reply.replayed && "replayed",
    finish === "cut" ? "the reply was stopped" : finish !== "stop" && `reply ${finish}`].filter(Boolean);
  const parameters = Object.entries(sampling).filter(([, value]) => value !== null && String(value)).map(([name, value]) => `${name} ${value}`);
  const servedAs = reply.model && reply.model !== call.model && ` (served as ${reply.model})`;
  const facts = [...parameters, `${(reply.seconds ?? 0).toFixed(1)} s`, usage.cached && `${usage.cached.toLocaleString("en")} prompt tokens from the server's cache`, `finish ${finish}`].filter(Boolean);
  const [verdict, opening] = answerIn(reply.text);
  return details("asked", [make("b", {}, call.role), " was asked ", make("code", {}, call.template), " ",
    (verdict || opening) && [make("q", { class: "reply-begins" }, verdict && [badge(verdict, verdict === "YES" ? "good" : "error"), " "], opening), " "], make("small", {}, notes.join(", "))],
  make("p", { class: "facts" }, call.model, servedAs, "; ", facts.join("; "), "."),
  (call.left_out || call.cut_characters) && make("p", { class: "cut" }, `Cut to fit the context: ${counted(call.left_out ?? 0, "message")} and ${counted(call.cut_characters ?? 0, "character")} were left out of this prompt.`),
  !messages.length && make("p", { class: "note" }, "This prompt is only in the store."),
  messages, reply.reasoning && details("message", "reasoning", make("pre", {}, reply.reasoning)),
  make("div", { class: "message reply", id: `${id}-reply` }, make("b", {}, "reply"), make("pre", {}, reply.text)));
}

// Draws a cell (a piece of plan code that ran): its plan next to its steps.
function drawCell(cell, steps, context) {
  const id = context.next("cell");
  const { feedback, thought = {} } = cell;
  const isError = feedback && !["done", "unfinished"].includes(feedback.kind);
  const undone = steps.length > 0 && steps[0].undone;
  const faultyLines = new Set([feedback?.line, ...(feedback?.faults ?? []).map((fault) => fault.line)]);
  const lastLine = feedback?.kind === "unfinished" ? 0 : steps.at(-1)?.line;
  const printedBySteps = steps.reduce((sum, step) => sum + (step.printed ?? "").length, 0);
  const printedLast = (feedback?.output ?? "").slice(printedBySteps);
  const parts = [["Understanding", thought.understanding], ["Mistakes", thought.mistakes], ["Rules", thought.rules], ["Plan", thought.plan]].filter(([, words]) => words);
  const thoughts = parts.length ? parts : thought.text ? [["Thought", thought.text]] : [];
  const source = cell.code ?? "";
  const ended = feedback ? [", from ", cell.source, " ", badge(feedback.kind, isError ? "error" : undone ? "plain" : "good")]
    : [" ", badge("no end recorded", "error"), source && make("small", {}, " code from the reply before it")];
  return make("section", { class: `cell${undone ? " undone" : ""}`, id },
    make("h5", {}, `Cell ${cell.number}`, ended, undone && [" ", badge("rewound", "mixed")], " ", linkTo(id, "#", "link to this cell")),
    thoughts.length > 0 && make("dl", { class: "thought" }, thoughts.map(([name, words]) => [make("dt", {}, name), make("dd", {}, words)])),
    make("div", { class: source && steps.length ? "beside" : "alone" },
      source && code(source, faultyLines, lastLine),
      (steps.length > 0 || printedLast) && make("div", { class: "happened" },
        steps.length > 0 && make("ol", { class: "steps" }, steps.map((step) => drawStep(step, context))),
        printedLast && text(printedLast, "printed"))),
    (cell.faults ?? []).map((fault) => make("pre", { class: "fault" }, fault)),
    feedback && details("long", ["Feedback ", make("small", {}, counted(feedback.text.length, "character"))], make("pre", {}, feedback.text)));
}
function drawStep(step, context) {
  const id = context.next("step");
  const { accepted = true, terminated, truncated, lasting, text: observed = "" } = step.observation;
  const flags = [!accepted && "no effect", step.counted === false && "not counted", step.undone && "undone", lasting && "lasting", terminated && "episode over", truncated && "cut short by the environment"];
  return [step.printed && make("li", { class: "between" }, make("pre", { class: "printed" }, step.printed)),
    make("li", { id, value: context.count.step, "data-line": step.line, class: `${step.undone ? "undone" : ""}${lasting ? " stays" : ""}` },
      make("code", {}, step.call), step.line && [" ", make("small", {}, `line ${step.line}`)], flags.map(flag), " ", linkTo(id, "#", "link to this step"),
      lasting && make("small", { class: "lasting" }, `A rewind does not undo this change${step.undone ? ": the rewind kept it" : ""}.`),
      text(observed, "", 500, 6))];
}
