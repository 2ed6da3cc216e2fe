// A page for node: as much of the DOM as the explorables' scripts need to draw their first frame, and no layout.

/** Text between elements. */
class Text {
  constructor(data) {
    this.data = String(data);
  }
  get textContent() {
    return this.data;
  }
}

const kebab = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Class names, which stand in the attribute. */
class Classes {
  constructor(node) {
    this.node = node;
  }
  names() {
    return new Set((this.node.getAttribute("class") ?? "").split(" ").filter(Boolean));
  }
  contains(name) {
    return this.names().has(name);
  }
  toggle(name, on = !this.contains(name)) {
    const names = this.names();
    if (on) names.add(name);
    else names.delete(name);
    this.node.setAttribute("class", [...names].join(" "));
    return on;
  }
  add(...names) {
    names.forEach((name) => this.toggle(name, true));
  }
  remove(...names) {
    names.forEach((name) => this.toggle(name, false));
  }
}

/** Declarations of a style attribute. */
class Style {
  constructor() {
    this.set = new Map();
    return new Proxy(this, {
      get: (own, name) => own[name] ?? own.set.get(kebab(name)) ?? "",
      set: (own, name, value) => Boolean(own.set.set(kebab(name), value)),
    });
  }
  setProperty(name, value) {
    this.set.set(name, value);
  }
  removeProperty(name) {
    this.set.delete(name);
  }
}

/** What a selector without combinators asks for: `tag.class[attribute="value"]`. */
function wanted(selector) {
  const [, tag, classes, attributes] = /^([\w-]*)((?:\.[\w-]+)*)((?:\[[^\]]+\])*)$/.exec(selector.trim()) ?? [];
  if (attributes === undefined) throw new Error(`the page for node cannot look for ${selector}`);
  const asked = [...attributes.matchAll(/\[([\w-]+)(?:="?([^"\]]*)"?)?\]/g)];
  return (node) =>
    (!tag || node.tagName === tag) &&
    classes.split(".").slice(1).every((name) => node.classList.contains(name)) &&
    asked.every(([, name, value]) => node.hasAttribute(name) && (value === undefined || node.getAttribute(name) === value));
}

/** An element; its box is `WIDTH` wide, because nothing here lays a page out. */
export class Element extends EventTarget {
  constructor(tagName, width) {
    super();
    Object.assign(this, { tagName, clientWidth: width, attributes: new Map(), childNodes: [], parentElement: null });
    this.style = new Style();
    this.classList = new Classes(this);
    this.dataset = new Proxy(this, {
      get: (node, name) => node.getAttribute(`data-${kebab(name)}`) ?? undefined,
      set: (node, name, value) => node.setAttribute(`data-${kebab(name)}`, value) ?? true,
    });
  }
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  setAttribute(name, value) {
    this.attributes.set(name, String(value));
  }
  removeAttribute(name) {
    this.attributes.delete(name);
  }
  hasAttribute(name) {
    return this.attributes.has(name);
  }
  toggleAttribute(name, on) {
    if (on) this.setAttribute(name, "");
    else this.removeAttribute(name);
  }
  get className() {
    return this.getAttribute("class") ?? "";
  }
  set className(names) {
    this.setAttribute("class", names);
  }
  get children() {
    return this.childNodes.filter((node) => node instanceof Element);
  }
  get childElementCount() {
    return this.children.length;
  }
  get firstChild() {
    return this.childNodes[0] ?? null;
  }
  get textContent() {
    return this.childNodes.map((node) => node.textContent).join("");
  }
  set textContent(text) {
    this.replaceChildren(...(text === "" ? [] : [text]));
  }
  append(...nodes) {
    for (const given of nodes) {
      const node = given instanceof Element || given instanceof Text ? given : new Text(given);
      node.parentElement?.drop(node);
      node.parentElement = this;
      this.childNodes.push(node);
    }
  }
  appendChild(node) {
    this.append(node);
    return node;
  }
  prepend(...nodes) {
    const before = this.childNodes;
    this.childNodes = [];
    this.append(...nodes);
    this.childNodes.push(...before);
  }
  insertBefore(node, next) {
    this.append(node);
    this.childNodes.pop();
    this.childNodes.splice(next ? this.childNodes.indexOf(next) : this.childNodes.length, 0, node);
    return node;
  }
  before(...nodes) {
    nodes.forEach((node) => this.parentElement.insertBefore(node, this));
  }
  replaceChildren(...nodes) {
    this.childNodes = [];
    this.append(...nodes);
  }
  drop(node) {
    this.childNodes = this.childNodes.filter((other) => other !== node);
  }
  remove() {
    this.parentElement?.drop(this);
    this.parentElement = null;
  }
  *all() {
    for (const child of this.children) {
      yield child;
      yield* child.all();
    }
  }
  querySelectorAll(selectors) {
    const tests = selectors.split(",").map(wanted);
    return [...this.all()].filter((node) => tests.some((fits) => fits(node)));
  }
  querySelector(selectors) {
    return this.querySelectorAll(selectors)[0] ?? null;
  }
  contains(other) {
    return other === this || [...this.all()].includes(other);
  }
  get isConnected() {
    return true;
  }
  get viewBox() {
    const [x, y, width, height] = this.getAttribute("viewBox").split(" ").map(Number);
    return { baseVal: { x, y, width, height } };
  }
  get valueAsNumber() {
    return Number(this.value);
  }
  set valueAsNumber(value) {
    this.value = value;
  }
  getBoundingClientRect() {
    return { left: 0, top: 0, width: this.clientWidth, height: this.clientWidth };
  }
  focus() {}
  scrollIntoView() {}
}

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

/** A node as text; numbers in attributes are cut to two digits, which no eye tells from the rest. */
export function written(node) {
  if (node instanceof Text) return escaped(node.data);
  const cut = (text) => text.replace(/-?\d+\.\d{3,}(?:e-?\d+)?/g, (number) => String(Number(Number(number).toFixed(2)) + 0));
  const style = [...node.style.set].map(([name, value]) => `${name}:${value}`).join(";");
  const attributes = [...node.attributes, ...(style ? [["style", style]] : [])];
  const said = attributes.map(([name, value]) => ` ${name}="${escaped(cut(value))}"`).join("");
  return `<${node.tagName}${said}>${node.childNodes.map(written).join("")}</${node.tagName}>`;
}

class Observer {
  observe() {}
  disconnect() {}
}

/** Makes this process a page of a width in which no time passes; returns its body. */
export function openPage(width) {
  const element = (tag) => new Element(tag, width);
  const body = element("body");
  Object.assign(globalThis, {
    document: {
      body,
      createElement: element,
      createElementNS: (_, tag) => element(tag),
      createTextNode: (text) => new Text(text),
      querySelectorAll: (selectors) => body.querySelectorAll(selectors),
      addEventListener() {},
    },
    window: globalThis,
    location: { hash: "", href: "" },
    ResizeObserver: Observer,
    IntersectionObserver: Observer,
    requestAnimationFrame: () => 0,
    cancelAnimationFrame() {},
    addEventListener() {},
    removeEventListener() {},
    matchMedia: () => ({ matches: true }),
  });
  return body;
}

/** What a script draws first for a state: the element that holds its view, the state that it took, and the view's end. */
export function firstFrame(body, widget, state, hash = "") {
  location.hash = hash;
  const el = document.createElement("div");
  body.replaceChildren(el);
  const held = { ...state };
  const model = { get: (name) => held[name], set: (name, value) => void (held[name] = value), on() {}, off() {}, save_changes() {} };
  const leave = widget.render({ el, model });
  return { el, held, leave };
}
