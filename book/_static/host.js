/* Mounts the explorables of a published page, which has neither a kernel nor a widget manager.
 *
 * An explorable is an anywidget: a module whose default export has `render({model, el})`, or is that function. The
 * notebook's state holds the module, its style and its values; each view names the model that it shows.
 */
(function () {
  "use strict";
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';

  /** The values of one widget; views of one model follow each other. */
  class Model {
    constructor(values) {
      this.values = { ...values };
      this.listeners = new Map();
    }
    get(name) {
      return this.values[name];
    }
    set(name, value) {
      if (this.values[name] === value) return;
      this.values[name] = value;
      for (const event of [`change:${name}`, "change"])
        for (const listener of [...(this.listeners.get(event) || [])]) listener(this, value);
    }
    on(events, listener) {
      for (const event of events.split(" ")) {
        if (!this.listeners.has(event)) this.listeners.set(event, new Set());
        this.listeners.get(event).add(listener);
      }
    }
    off(events, listener) {
      for (const event of events ? events.split(" ") : [...this.listeners.keys()]) {
        if (listener) (this.listeners.get(event) || new Set()).delete(listener);
        else this.listeners.delete(event);
      }
    }
    /** Nobody else holds the values, so there is nothing to send. */
    save_changes() {}
    send() {}
  }

  /** Two widgets of one class have one module. */
  const modules = new Map();
  function load(text) {
    if (!modules.has(text)) {
      const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      modules.set(text, import(address).then((found) => found.default));
    }
    return modules.get(text);
  }

  const styles = new Set();
  function style(text) {
    if (!text || styles.has(text)) return;
    styles.add(text);
    document.head.appendChild(document.createElement("style")).textContent = text;
  }

  const models = new Map();
  function modelOf(id, states) {
    if (!models.has(id)) models.set(id, new Model(states[id].state));
    return models.get(id);
  }

  const shownBy = (script) => JSON.parse(script.textContent).model_id;

  async function mount(script, states) {
    const id = shownBy(script);
    const values = states[id] && states[id].state;
    if (!values || !values._esm) return; // its picture stays
    const widget = await load(values._esm);
    const model = modelOf(id, states);
    const parts = typeof widget === "function" ? await widget() : widget;
    if (parts.initialize && !model.initialized) {
      model.initialized = true;
      await parts.initialize({ model });
    }
    style(values._css);
    const el = document.createElement("div");
    el.className = "lossnav-host";
    script.after(el);
    await parts.render({ model, el });
  }

  function start() {
    const states = {};
    for (const script of document.querySelectorAll(STATE)) Object.assign(states, JSON.parse(script.textContent).state);
    const views = [...document.querySelectorAll(VIEW)];
    // All modules first: explorables that are mounted together move the page below them once.
    const wanted = views.map((script) => states[shownBy(script)]?.state._esm).filter(Boolean);
    Promise.allSettled(wanted.map(load)).then(() => {
      for (const script of views) mount(script, states).catch((error) => console.error("explorable:", error));
    });
  }

  if (document.readyState === "loading") document.addEventListener("readystatechange", start, { once: true });
  else start();
})();
