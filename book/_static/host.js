/* Mounts the explorables of a published page, which has neither a kernel nor a widget manager.
 *
 * An explorable is an anywidget: an object with `render({model, el})`. Its script and its values stand beside it, and it is
 * mounted while the page is parsed: what comes after it has its place from the beginning.
 */
(function () {
  "use strict";
  /** The values of one widget; views of one model follow each other. */
  class Model {
    constructor(values) {
      this.values = values;
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

  const widgets = new Map();
  const models = new Map();
  window.explorables = {
    /** What `make` returns is the widget of that name. */
    define(name, make) {
      widgets.set(name, make());
    },
    /** Shows a widget where the script that asks for it stands. */
    show(name, id, values) {
      if (!models.has(id)) models.set(id, new Model(values));
      const el = document.createElement("div");
      el.className = "lossnav-host";
      document.currentScript.before(el);
      widgets.get(name).render({ model: models.get(id), el });
    },
  };
})();
