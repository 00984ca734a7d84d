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
  const pendingTimers = new Set();
  window.setTimeout = (callback, delay = 0, ...args) => {
    const id = realSetTimeout(() => {
      pendingTimers.delete(id);
      if (typeof callback === "function") callback(...args);
    }, delay);
    if (delay <= MAX_TIMER) pendingTimers.add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    pendingTimers.delete(id);
    realClearTimeout(id);
  };
  window.setInterval = () => 0;
  window.alert = window.confirm = window.prompt = () => null; // a dialog would block the tab

  const waitForTimers = async () => {
    const end = performance.now() + MAX_WAIT;
    while (pendingTimers.size && performance.now() < end) await new Promise((resolve) => realSetTimeout(resolve, 5));
  };

  // --- Reading the page.
  const contentElements = () => [...(document.body?.children ?? [])].filter((child) => !child.matches(HIDDEN));

  const copyValuesToAttributes = () => {
    for (const field of document.querySelectorAll(TYPED)) {
      if (field.value) field.setAttribute("value", field.value);
      else field.removeAttribute("value");
    }
  };

  const html = () => {
    copyValuesToAttributes();
    return contentElements().map((child) => child.outerHTML).join("\n");
  };

  // The variable episode is lost when the plan leaves or reloads the page. The episode is then over.
  const pageState = (hasLeft) => {
    const isOver = hasLeft || episode === 0;
    return { html: html(), done: isOver || WOB_DONE_GLOBAL, reward: isOver ? 0 : WOB_RAW_REWARD_GLOBAL };
  };

  // While the page is searched, the judge's elements (rewards so far, the cover, the page's scripts) are removed, so
  // that no XPath can match them.
  const withoutJudge = (search) => {
    const pairs = [...document.querySelectorAll(JUDGE)].map((element) => [element, document.createComment("")]);
    for (const [element, placeholder] of pairs) element.replaceWith(placeholder);
    try {
      return search();
    } finally {
      for (const [element, placeholder] of pairs) placeholder.replaceWith(element);
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

  const isVisible = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility === "visible";

  const oneLine = (text) => (text || "").replace(/\s+/g, " ").trim();

  const attributes = (element) => {
    const values = {};
    for (const attribute of element.attributes) values[attribute.name] = attribute.value;
    for (const name of ["checked", "selected", "disabled"]) if (element[name] === true) values[name] = name; else delete values[name];
    return values;
  };

  const text = (node) => oneLine(node.nodeType === Node.ELEMENT_NODE ? node.textContent : node.nodeValue);

  const describe = ({ element, text, xpath }) => {
    const box = element.getBoundingClientRect();
    return {
      text,
      tag: element.tagName.toLowerCase(),
      attributes: attributes(element),
      box: { x: box.x, y: box.y, width: box.width, height: box.height },
      visible: isVisible(element),
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
  const POSITIONS = [[0.5, 0.5], [0.5, 0.25], [0.5, 0.75], [0.25, 0.5], [0.75, 0.5], [0.2, 0.2], [0.8, 0.2], [0.2, 0.8], [0.8, 0.8]];

  const reaches = (element, x, y) => {
    const hit = document.elementFromPoint(x, y);
    return hit !== null && (hit === element || element.contains(hit));
  };

  const boxOf = (element) => [...element.getClientRects()].find((box) => box.width && box.height);

  const aim = (element) => {
    const box = boxOf(element);
    const point = POSITIONS.map(([right, down]) => [box.x + right * box.width, box.y + down * box.height]).find(([x, y]) => reaches(element, x, y));
    return point && { x: point[0], y: point[1] };
  };

  const tagOf = (element) => element.cloneNode(false).outerHTML.replace(/<\/[^>]*>$/, "");

  const firstElement = (xpath) => {
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

  const visibleElement = (xpath) => {
    const element = firstElement(xpath);
    if (!isVisible(element) || !boxOf(element)) throw new Refused(`the element ${xpath} is not visible`);
    return element;
  };

  const clickablePoint = (xpath, element) => {
    const point = aim(element);
    if (point) return point;
    element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    const pointAfterScrolling = aim(element);
    if (pointAfterScrolling) return pointAfterScrolling;
    const box = boxOf(element);
    const cover = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    throw new Refused(`the element ${xpath} is covered` + (cover ? ` by ${tagOf(cover)}` : ""));
  };

  // --- Functions that Python calls. If an action is refused, the result is the reason and the page.
  const reportRefusal = (act) => {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { refused: error.message, ...pageState(false) };
    }
  };

  const locate = (xpath) =>
    reportRefusal(() => {
      const element = visibleElement(xpath);
      if (element.disabled) throw new Refused(`the element ${xpath} is disabled`);
      return clickablePoint(xpath, element);
    });

  const locateOption = (xpath) =>
    reportRefusal(() => {
      const element = firstElement(xpath);
      return element.tagName === "OPTION" ? { option: true } : locate(xpath);
    });

  const choose = (xpath) =>
    reportRefusal(() => {
      const option = firstElement(xpath);
      const list = option.closest("select");
      if (!list || !isVisible(list)) throw new Refused(`the list of the option ${xpath} is not visible`);
      if (list.disabled || option.disabled) throw new Refused(`the option ${xpath} is disabled`);
      list.focus();
      option.selected = list.multiple ? !option.selected : true; // in a list that allows several, a second click deselects it
      list.setAttribute("value", list.value);
      for (const type of ["input", "change"]) list.dispatchEvent(new Event(type, { bubbles: true }));
      return {};
    });

  const locatePoint = (xpath, x, y) =>
    reportRefusal(() => {
      const element = visibleElement(xpath);
      element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
      const box = element.getBoundingClientRect();
      const point = { x: box.x + x, y: box.y + y };
      if (!reaches(element, point.x, point.y)) throw new Refused(`the point (${x}, ${y}) does not lie on the element ${xpath}`);
      return point;
    });

  const checkFocus = () =>
    reportRefusal(() => {
      const field = document.activeElement;
      if (!field || !(field.matches("input, textarea, select") || field.isContentEditable))
        throw new Refused("no text field has the focus; click on one first");
      if (field.disabled || field.readOnly) throw new Refused("the field that has the focus is disabled or read-only");
      return {};
    });

  const selectText = (xpath) =>
    reportRefusal(() => {
      const element = visibleElement(xpath);
      if (element.select) {
        element.focus();
        element.select();
      } else window.getSelection().selectAllChildren(element);
      return {};
    });

  const scroll = (xpath, dy) =>
    reportRefusal(() => {
      let box = visibleElement(xpath);
      for (; box; box = box.parentElement) {
        const top = box.scrollTop;
        box.scrollTop = top + dy;
        if (box.scrollTop !== top) return {};
      }
      throw new Refused(`nothing around ${xpath} can be scrolled by ${dy}`);
    });

  // --- Episodes.
  let episode = 0;

  const icons = []; // the images, referenced here so that they stay in memory

  // Icons from style sheets have no size until they are loaded, and some are shown only under the mouse. If they were
  // loaded only then, they would move other elements during a click.
  const loadIcons = async () => {
    const inline = [...document.querySelectorAll("style")].map((style) => style.textContent).join("\n");
    const urls = new Set([...inline.matchAll(/url\(["']?([^"')]+)["']?\)/g)].map((match) => match[1]));
    for (const url of urls) {
      const icon = new Image();
      icon.src = url;
      icons.push(icon);
    }
    await Promise.all(icons.map((icon) => icon.decode().catch(() => null)));
  };

  const waitUntilLoaded = async () => {
    while (document.readyState !== "complete" || !core.cover_div) await new Promise((resolve) => realSetTimeout(resolve, 1));
    if (!icons.length) await loadIcons();
  };

  const begin = async (number, seed, mode, maxTime) => {
    await waitUntilLoaded();
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
    await waitForTimers();
    const goal = typeof answer === "string" ? answer : answer.utterance;
    return { ...pageState(false), goal, fields: typeof answer === "string" ? null : answer.fields };
  };

  const settle = async (number) => {
    if (pendingTimers.size) await waitForTimers();
    return pageState(number !== episode);
  };

  document.addEventListener("DOMContentLoaded", () => {
    const style = document.createElement("style");
    // The arrows of a small number field would catch a click on the field.
    style.textContent = "input::-webkit-inner-spin-button { display: none; }";
    document.head.append(style);
  });

  window.planbook = Object.freeze({ begin, settle, find, locate, locateOption, choose, locatePoint, checkFocus, selectText, scroll });
})();
