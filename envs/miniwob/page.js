// Runs in every task page before the page's own scripts. Python calls its functions as window.planbook.
(() => {
  "use strict";
  if (window.planbook) return;

  const JUDGE = "#reward-display, #click-canvas, #sync-task-cover, #attention-canvas, script";
  const HIDDEN = `${JUDGE}, style`;
  const MAX_TIMER = 1000; // ms: a longer timer does not count as part of the page's reaction to an action
  const MAX_WAIT = 2000; // ms: maximum time to wait until the page has finished reacting to an action
  const MAX_FOUND = 500; // maximum number of elements that find() returns
  const TYPED = "textarea, input:not([type=checkbox], [type=radio], [type=button], [type=submit], [type=hidden])";

  // --- Time. A page always sees the same date, so that its content does not depend on when it runs. Endless timers (a
  // blinking cursor, a countdown) do not run. After each action, we wait until the other timers have fired.
  const START = Date.UTC(2020, 0, 1, 12);
  const RealDate = Date;
  let shift = START - RealDate.now();
  window.Date = class Date extends RealDate {
    constructor(...args) {
      if (args.length) super(...args);
      else super(RealDate.now() + shift);
    }
    static now() {
      return RealDate.now() + shift;
    }
  };

  const realSetTimeout = window.setTimeout.bind(window);
  const realClearTimeout = window.clearTimeout.bind(window);
  const waiting = new Set();
  window.setTimeout = (callback, delay = 0, ...args) => {
    const id = realSetTimeout(() => {
      waiting.delete(id);
      if (typeof callback === "function") callback(...args);
    }, delay);
    if (delay <= MAX_TIMER) waiting.add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    waiting.delete(id);
    realClearTimeout(id);
  };
  window.setInterval = () => 0;
  window.alert = window.confirm = window.prompt = () => null; // a dialog would block the tab

  const quiet = async () => {
    const end = performance.now() + MAX_WAIT;
    while (waiting.size && performance.now() < end) await new Promise((done) => realSetTimeout(done, 5));
  };

  // --- Reading the page.
  const children = () => [...(document.body?.children ?? [])].filter((child) => !child.matches(HIDDEN));

  const copyValuesToAttributes = () => {
    for (const field of document.querySelectorAll(TYPED)) {
      if (field.value) field.setAttribute("value", field.value);
      else field.removeAttribute("value");
    }
  };

  const html = () => {
    copyValuesToAttributes();
    return children().map((child) => child.outerHTML).join("\n");
  };

  // The variable episode is lost when the plan leaves or reloads the page. The episode is then over.
  const pageState = (left) => {
    const over = left || episode === 0;
    return { html: html(), done: over || WOB_DONE_GLOBAL, reward: over ? 0 : WOB_RAW_REWARD_GLOBAL };
  };

  // While the page is searched, the judge's elements (rewards so far, the cover, the page's scripts) are removed, so
  // that no XPath can match them.
  const withoutJudge = (work) => {
    const places = [...document.querySelectorAll(JUDGE)].map((element) => [element, document.createComment("")]);
    for (const [element, place] of places) element.replaceWith(place);
    try {
      return work();
    } finally {
      for (const [element, place] of places) place.replaceWith(element);
    }
  };

  const nodes = (xpath) => withoutJudge(() => {
    const result = document.evaluate(xpath, document, null, XPathResult.ANY_TYPE, null);
    const matches = [];
    if (result.resultType < XPathResult.UNORDERED_NODE_ITERATOR_TYPE) return matches; // a string, number or boolean
    for (let node = result.iterateNext(); node; node = result.iterateNext()) {
      const owner = node.ownerElement || (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement);
      if (owner && document.body.contains(owner) && !owner.closest(HIDDEN)) matches.push({ node, element: owner, text: text(node), xpath: path(owner) });
    }
    return matches;
  });

  const path = (element) => {
    const steps = [];
    for (; element !== document.documentElement; element = element.parentElement) {
      const position = [...element.parentElement.children].indexOf(element) + 1;
      steps.unshift(`*[${position}]`);
    }
    return "/html/" + steps.join("/");
  };

  const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility === "visible";

  const oneLine = (text) => (text || "").replace(/\s+/g, " ").trim();

  const attributes = (element) => {
    const all = {};
    for (const attribute of element.attributes) all[attribute.name] = attribute.value;
    for (const name of ["checked", "selected", "disabled"]) if (element[name] === true) all[name] = name; else delete all[name];
    return all;
  };

  const text = (node) => oneLine(node.nodeType === Node.ELEMENT_NODE ? node.textContent : node.nodeValue);

  const describe = ({ element, text, xpath }) => {
    const box = element.getBoundingClientRect();
    return {
      text,
      tag: element.tagName.toLowerCase(),
      attributes: attributes(element),
      box: { x: box.x, y: box.y, width: box.width, height: box.height },
      visible: shown(element),
      xpath,
    };
  };

  const find = (xpath) => {
    copyValuesToAttributes();
    try {
      return nodes(xpath).slice(0, MAX_FOUND).map(describe);
    } catch (error) {
      if (error instanceof DOMException) return []; // not a valid XPath
      throw error;
    }
  };

  class Refused extends Error {} // an action that cannot be carried out; the message becomes "Nothing happens: ..."

  // --- Aiming. As in Selenium, the first choice is the centre of the element's first box. If this point is covered,
  // other points of the box are tried, since a person would click on the visible part.
  const SPOTS = [[0.5, 0.5], [0.5, 0.25], [0.5, 0.75], [0.25, 0.5], [0.75, 0.5], [0.2, 0.2], [0.8, 0.2], [0.2, 0.8], [0.8, 0.8]];

  const reaches = (element, x, y) => {
    const hit = document.elementFromPoint(x, y);
    return hit !== null && (hit === element || element.contains(hit));
  };

  const boxOf = (element) => [...element.getClientRects()].find((box) => box.width && box.height);

  const aim = (element) => {
    const box = boxOf(element);
    const spot = SPOTS.map(([right, down]) => [box.x + right * box.width, box.y + down * box.height]).find(([x, y]) => reaches(element, x, y));
    return spot && { x: spot[0], y: spot[1] };
  };

  const tagOf = (element) => element.cloneNode(false).outerHTML.replace(/<\/[^>]*>$/, "");

  const one = (xpath) => {
    let matches;
    try {
      matches = nodes(xpath);
    } catch (error) {
      throw new Refused(`${xpath} is not a valid XPath expression`);
    }
    if (!matches.length) throw new Refused(`no element matches ${xpath}`);
    if (matches[0].node.nodeType !== Node.ELEMENT_NODE) throw new Refused(`${xpath} does not name an element`);
    return matches[0].element;
  };

  const visible = (xpath) => {
    const element = one(xpath);
    if (!shown(element) || !boxOf(element)) throw new Refused(`the element ${xpath} is not visible`);
    return element;
  };

  const spot = (xpath, element) => {
    const direct = aim(element);
    if (direct) return direct;
    element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    const scrolled = aim(element);
    if (scrolled) return scrolled;
    const box = boxOf(element);
    const cover = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    throw new Refused(`the element ${xpath} is covered` + (cover ? ` by ${tagOf(cover)}` : ""));
  };

  // --- Functions that Python calls. If an action is refused, the result is the reason and the page.
  const guarded = (work) => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { refused: error.message, ...pageState(false) };
    }
  };

  const locate = (xpath) =>
    guarded(() => {
      const element = visible(xpath);
      if (element.disabled) throw new Refused(`the element ${xpath} is disabled`);
      return spot(xpath, element);
    });

  const locateOption = (xpath) =>
    guarded(() => {
      const element = one(xpath);
      return element.tagName === "OPTION" ? { option: true } : locate(xpath);
    });

  const choose = (xpath) =>
    guarded(() => {
      const option = one(xpath);
      const list = option.closest("select");
      if (!list || !shown(list)) throw new Refused(`the list of the option ${xpath} is not visible`);
      if (list.disabled || option.disabled) throw new Refused(`the option ${xpath} is disabled`);
      list.focus();
      option.selected = list.multiple ? !option.selected : true; // in a list that allows several, a further click deselects it
      list.setAttribute("value", list.value);
      for (const type of ["input", "change"]) list.dispatchEvent(new Event(type, { bubbles: true }));
      return {};
    });

  const offset = (xpath, x, y) =>
    guarded(() => {
      const element = visible(xpath);
      element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
      const box = element.getBoundingClientRect();
      const point = { x: box.x + x, y: box.y + y };
      if (!reaches(element, point.x, point.y)) throw new Refused(`the point (${x}, ${y}) does not lie on the element ${xpath}`);
      return point;
    });

  const typable = () =>
    guarded(() => {
      const field = document.activeElement;
      if (!field || !(field.matches("input, textarea, select") || field.isContentEditable))
        throw new Refused("no text field has the focus; click on one first");
      if (field.disabled || field.readOnly) throw new Refused("the field that has the focus is disabled or read-only");
      return {};
    });

  const selectText = (xpath) =>
    guarded(() => {
      const element = visible(xpath);
      if (element.select) {
        element.focus();
        element.select();
      } else window.getSelection().selectAllChildren(element);
      return {};
    });

  const scroll = (xpath, dy) =>
    guarded(() => {
      let box = visible(xpath);
      for (; box; box = box.parentElement) {
        const top = box.scrollTop;
        box.scrollTop = top + dy;
        if (box.scrollTop !== top) return {};
      }
      throw new Refused(`nothing around ${xpath} can be scrolled by ${dy}`);
    });

  // --- Episodes.
  let episode = 0;

  const kept = []; // images stay in memory as long as they are referenced

  // Icons from style sheets have no size until they are loaded, and some are shown only under the mouse. If they were
  // loaded only then, they would move other elements during a click.
  const loadIcons = async () => {
    const inline = [...document.querySelectorAll("style")].map((style) => style.textContent).join("\n");
    const urls = new Set([...inline.matchAll(/url\(["']?([^"')]+)["']?\)/g)].map((match) => match[1]));
    for (const url of urls) {
      const icon = new Image();
      icon.src = url;
      kept.push(icon);
    }
    await Promise.all(kept.map((icon) => icon.decode().catch(() => null)));
  };

  const loaded = async () => {
    while (document.readyState !== "complete" || !core.cover_div) await new Promise((done) => realSetTimeout(done, 1));
    if (!kept.length) await loadIcons();
  };

  const begin = async (number, seed, mode, maxTime) => {
    await loaded();
    if (window.jQuery) jQuery.fx.off = true; // no animations
    document.body.removeEventListener("click", core.canvasDrawClick); // this listener would mark clicks in the HTML
    core.endEpisode(0);
    core.EPISODE_MAX_TIME = maxTime;
    core.setDataMode(mode);
    document.activeElement && document.activeElement.blur();
    shift = START - RealDate.now();
    Math.seedrandom(seed);
    core.startEpisodeReal();
    episode = number;
    const answer = core.getUtterance();
    await quiet();
    const goal = typeof answer === "string" ? answer : answer.utterance;
    return { ...pageState(false), goal, fields: typeof answer === "string" ? null : answer.fields };
  };

  const settle = async (number) => {
    if (waiting.size) await quiet();
    return pageState(number !== episode);
  };

  document.addEventListener("DOMContentLoaded", () => {
    const style = document.createElement("style");
    // The arrows of a small number field would catch a click on the field.
    style.textContent = "input::-webkit-inner-spin-button { display: none; }";
    document.head.append(style);
  });

  window.planbook = Object.freeze({ begin, settle, find, locate, locateOption, choose, offset, typable, selectText, scroll });
})();
