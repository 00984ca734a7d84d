// Functions that run inside the page, in an isolated world: the page's own scripts cannot see or change them.
// The functions that Python calls take the target node. They return {refused: reason} if they did nothing.
({
  aim(node) {
    const element = this.element(node), {tag, type} = this.kind(node);
    if (tag === "select" || tag === "option") return {refused: "belongs to a select box: use select(element, option)"};
    if (tag === "input" && type === "file") return {refused: "takes a file, and there is none to give"};
    if (!node.isConnected || !element) return {refused: "is no longer on the page"};
    if (element.matches(":disabled, [aria-disabled=true], [aria-disabled=true] *, [inert], [inert] *")) {
      return {refused: "is disabled"};
    }
    if (!element.checkVisibility({visibilityProperty: true})) return {refused: "is hidden"};
    if (!this.canConvertPoints()) return {refused: "is in a frame that is rotated or has another origin, which cannot be clicked"};
    if (!this.points(node).length) this.scrollIntoView(element);
    let points = this.points(node);
    if (!points.length) return {refused: "has no area on the page that can be clicked"};
    let cover = null;
    for (const point of points) {
      cover = this.coverAt(node, point);
      if (!cover) return this.toWindow(point);
    }
    this.scrollIntoView(element);
    for (const point of this.points(node)) if (!(cover = this.coverAt(node, point))) return this.toWindow(point);
    return {refused: "is covered", cover: this.describeCover(cover)};
  },
  element(node) { return node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement ?? node.getRootNode().host; },
  scrollIntoView(element) { element.scrollIntoView({block: "center", inline: "nearest", behavior: "instant"}); },
  rects(node) {
    if (node.nodeType === Node.ELEMENT_NODE) return [...node.getClientRects()];
    const range = document.createRange();
    range.selectNode(node);
    return [...range.getClientRects()];
  },
  points(node) {
    const inside = (x, y) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight && this.toWindow({x, y}).visible;
    const points = [];
    for (const box of this.rects(node)) {
      if (!box.width || !box.height) continue;
      const left = Math.max(0, box.left), right = Math.min(innerWidth, box.right);
      const top = Math.max(0, box.top), bottom = Math.min(innerHeight, box.bottom);
      if (right <= left || bottom <= top) continue;
      for (const [across, down] of [[.5, .5], [.15, .5], [.85, .5], [.5, .15], [.5, .85]]) {
        const x = left + across * (right - left), y = top + down * (bottom - top);
        if (inside(x, y)) points.push({x, y});
      }
    }
    return points;
  },
  // Return the point in coordinates of the tab's window, and whether all frames around the point show it (visible).
  toWindow(point) {
    let visible = true;
    for (let view = window; view.frameElement; view = view.parent) {
      point = this.toOuterPage(view.frameElement, point);
      visible &&= point.x >= 0 && point.y >= 0 && point.x < view.parent.innerWidth && point.y < view.parent.innerHeight;
    }
    return {...point, visible};
  },
  // Convert a point inside a frame to coordinates of the page around the frame. The frame may be scaled.
  toOuterPage(frame, {x, y}) {
    const box = frame.getBoundingClientRect(), style = getComputedStyle(frame);
    return {
      x: box.left + (frame.clientLeft + parseFloat(style.paddingLeft) + x) * box.width / frame.offsetWidth,
      y: box.top + (frame.clientTop + parseFloat(style.paddingTop) + y) * box.height / frame.offsetHeight,
    };
  },
  // Return true if points in this page can be converted: no frame around it has another origin or is rotated.
  canConvertPoints() {
    let view = window;
    for (; view.frameElement; view = view.parent) {
      for (let at = view.frameElement; at; at = at.parentElement ?? at.getRootNode().host) {
        const {transform, rotate} = getComputedStyle(at), {a, b, c, d} = new DOMMatrix(transform);
        if (rotate !== "none" || b || c || a < 0 || d < 0) return false;
      }
    }
    return view === view.parent;
  },
  // Return the topmost element at a point, even inside shadow trees.
  topElementAt(root, {x, y}) {
    let top = root.elementFromPoint(x, y);
    while (top?.shadowRoot) {
      const inner = top.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === top) break;
      top = inner;
    }
    return top;
  },
  // Return the element that covers the node at a point, or null if a click on the point reaches the node.
  coverAt(node, point) {
    const top = this.topElementAt(node.getRootNode(), point);
    if (!top || !this.reaches(top, node)) return top ?? document.documentElement;
    for (let view = window; view.frameElement; view = view.parent) {
      point = this.toOuterPage(view.frameElement, point);
      const over = this.topElementAt(view.frameElement.getRootNode(), point);
      if (over !== view.frameElement) return over;
    }
    return null;
  },
  // Return true if a click on top, the topmost element at some point, reaches the node.
  reaches(top, node) {
    const element = this.element(node);
    const isInside = (inner, outer) => {
      for (let at = inner; at; at = at.assignedSlot ?? at.parentNode ?? at.host) if (at === outer) return true;
      return false;
    };
    if (isInside(top, element)) return true;
    for (const slot of element.querySelectorAll("slot")) {  // the slots of a closed shadow tree
      if (slot.assignedElements({flatten: true}).some((child) => isInside(top, child))) return true;
    }
    if (top.closest("label")?.control === element) return true;
    // Also accept an image that replaces a checkbox, and a text whose parent handles the click.
    return element.matches("input[type=checkbox], input[type=radio]")
      ? isInside(element, top) && top !== document.body && top !== document.documentElement
      : getComputedStyle(element).pointerEvents === "none" && isInside(element, top);
  },
  describeCover(element) {
    const text = (element.getAttribute("aria-label") || element.innerText || "").slice(0, 80);
    return {tag: element.localName, text};
  },
  kind(node) {
    const element = this.element(node);
    if (!element) return {};
    return {tag: element.localName, type: element.type ?? "", editable: element.isContentEditable};
  },
  // Return the field whose label contains the node. If the node is a field or has no such label, return its element.
  fieldOf(node) {
    const element = this.element(node);
    return element.matches("input, textarea, select") ? element : element.closest("label")?.control ?? element;
  },
  // Return how text must be entered into a field (entry): by setting its value ("set") or by pressing keys ("keys").
  field(node) {
    if (!node.isConnected || !this.element(node)) return {refused: "is no longer on the page"};
    const element = this.fieldOf(node);
    const {tag, type, editable} = this.kind(element);
    if (tag === "select") return {refused: "is a select box: use select(element, option)", isSelectBox: true};
    const takesText = tag === "textarea" || (tag === "input" && !this.nonTextTypes.includes(type)) || editable;
    if (!takesText) return {refused: type === "file" ? "takes a file, and there is none to give" : "is not a field"};
    if (element.matches(":disabled, [aria-disabled=true]")) return {refused: "is disabled"};
    if (element.readOnly) return {refused: "is read-only"};
    if (!element.checkVisibility({visibilityProperty: true})) return {refused: "is hidden"};
    const entry = this.setTypes.includes(type) ? "set" : "keys";
    return {entry, isMultiline: tag === "textarea" || editable, isTextarea: tag === "textarea"};
  },
  nonTextTypes: ["checkbox", "radio", "button", "submit", "reset", "image", "file", "hidden"],
  setTypes: ["date", "time", "datetime-local", "month", "week", "color", "range"],
  // Focus the field and select its content.
  selectContent(node) {
    const element = this.fieldOf(node), root = element.getRootNode();
    if (!element.contains(root.activeElement)) element.focus({preventScroll: false});
    if (element.select) element.select();
    else element.ownerDocument.getSelection().selectAllChildren(element);
    return {hasContent: !!(element.value ?? element.innerText)};
  },
  set(node, text) {
    const element = this.fieldOf(node), before = element.value;
    element.focus();
    element.value = text;
    if (element.value.toLowerCase() !== text.toLowerCase() && Number(element.value) !== Number(text || NaN)) {
      element.value = before;
      return {refused: `does not accept this text; it keeps the value ${JSON.stringify(before)}`};
    }
    this.notify(element);
    return {};
  },
  notify(element) {
    for (const name of ["input", "change"]) element.dispatchEvent(new Event(name, {bubbles: true, composed: true}));
  },
  choose(node, wanted) {
    const element = this.element(node)?.closest("select");
    if (!node.isConnected || !element) return {refused: "is not a select box"};
    if (element.disabled) return {refused: "is disabled"};
    if (!element.checkVisibility({visibilityProperty: true})) return {refused: "is hidden"};
    const normalize = (text) => text.replace(/\s+/g, " ").trim();
    const options = [...element.options];
    const name = (option) => normalize(option.label || option.text);
    const option = options.find((candidate) => name(candidate) === normalize(wanted))
      ?? options.find((candidate) => name(candidate).toLowerCase() === normalize(wanted).toLowerCase());
    if (!option) return {refused: "has no such option", options: options.map(name)};
    if (option.disabled || option.parentElement.disabled) return {refused: "has that option, but it is disabled"};
    element.focus();
    option.selected = element.multiple ? !option.selected : true;
    this.notify(element);
    return {};
  },
  // Return the nodes in view and their ancestors, parents first, for pages that are too large to be read as a whole.
  // The layout has an entry for each node: the index of its parent and the edges of its box.
  inView(maxNodes) {
    const nodes = [], layout = [];
    const isVisible = (box) => box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
    const collect = (node, parent) => {
      if (nodes.length >= maxNodes) return;
      const isElement = node.nodeType === Node.ELEMENT_NODE;
      const box = isElement ? node.getBoundingClientRect() : this.rects(node)[0];
      if (!box) return;
      if (box.width && box.height && !isVisible(box)) return;
      if (!isElement && !node.data.trim()) return;
      const index = nodes.push(node) - 1;
      layout.push([parent, box.left, box.top, box.right, box.bottom]);
      if (!isElement) return;
      const style = getComputedStyle(node);
      if (style.display === "none") return;
      for (const child of (node.shadowRoot ?? node).childNodes) {
        if (child.nodeType === Node.ELEMENT_NODE || child.nodeType === Node.TEXT_NODE) collect(child, index);
      }
    };
    collect(document.documentElement, -1);
    return {nodes, layout: JSON.stringify(layout)};
  },
  // Scroll the nearest scrollable part around the node. If there is none, scroll the page or, if the page has no room
  // left, its largest part that can be scrolled.
  scroll(node, sign) {
    const hasRoom = (part) => {
      const room = sign > 0 ? part.scrollHeight - part.clientHeight - part.scrollTop : part.scrollTop;
      return room >= 1 && part.clientHeight > 0;
    };
    const isScrollable = (part) => ["auto", "scroll", "overlay"].includes(getComputedStyle(part).overflowY);
    const page = document.scrollingElement ?? document.documentElement;
    let part = null;
    if (node && node.nodeType) {
      for (let at = this.element(node); at && at !== page && at !== document.body; at = at.parentElement ?? at.getRootNode().host) {
        if (isScrollable(at) && hasRoom(at)) { part = at; break; }
      }
    }
    if (!part && hasRoom(page)) part = page;
    if (!part && document.getElementsByTagName("*").length < 20000) {
      const size = (element) => element.clientWidth * element.clientHeight;
      part = [...document.querySelectorAll("*")].filter((element) => hasRoom(element) && isScrollable(element))
        .sort((first, second) => size(second) - size(first))[0];
    }
    if (!part) return {refused: `cannot be scrolled any further ${sign > 0 ? "down" : "up"}`};
    const height = part === page ? innerHeight : part.clientHeight;
    part.scrollBy({top: sign * Math.max(40, Math.round(height * 0.85)), behavior: "instant"});
    return {};
  },
})
