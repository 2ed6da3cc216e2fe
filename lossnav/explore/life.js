// The life of a widget's view: from the static twin that it replaces to its end.

import { make } from "./kit.js";

/**
 * What a script needs of anywidget's model.
 * @typedef {object} Model
 * @property {(trait: string) => any} get
 * @property {(trait: string, value: unknown) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, listener: () => void) => void} on
 * @property {(event: string, listener: () => void) => void} off
 */

/**
 * A widget's traits T, so that views of one widget, and Python where there is a kernel, stay in step.
 * @template T
 * @typedef {object} State
 * @property {<K extends keyof T & string>(trait: K) => T[K]} get
 * @property {<K extends keyof T & string>(...traits: K[]) => Pick<T, K>} pick several at once
 * @property {<K extends keyof T & string>(trait: K, value: T[K]) => void} set
 * @property {<K extends keyof T & string>(trait: K, value: T[K]) => void} show for what moves by itself: Python hears of it at the next set
 * @property {object} shared the same for all views of a widget
 */

/**
 * @typedef {object} View
 * @property {(width: number) => void} layout draws what depends on the size
 * @property {() => void} update draws what depends on the state
 * @property {() => void} [leave] stops what runs by itself
 */

/**
 * Hides the last static twin before `root` in the page, with the box of its output; returns how to bring it back.
 * @param {HTMLElement} root
 */
function replaceTwin(root) {
  const before = (/** @type {Element} */ twin) => twin.compareDocumentPosition(root) & Node.DOCUMENT_POSITION_FOLLOWING;
  const twins = document.querySelectorAll(`.lossnav-fallback[data-for="${root.dataset.explorable}"]`);
  const twin = [...twins].filter(before).pop();
  if (!twin) return () => {};
  const box = twin.parentElement;
  const hidden = box && box.childElementCount === 1 && !box.contains(root) ? [twin, box] : [twin];
  hidden.forEach((node) => node.classList.add("lossnav-replaced"));
  return () => hidden.forEach((node) => node.classList.remove("lossnav-replaced"));
}

/**
 * An anywidget module.
 * @template T
 * @param {string} name
 * @param {(root: HTMLElement, state: State<T>) => View} build
 */
export function explorable(name, build) {
  return {
    /** @param {{ model: Model, el: HTMLElement }} given */
    render({ model, el }) {
      const root = make("div", { class: "lossnav-explorable", "data-explorable": name, role: "group" });
      let timer = 0;
      const save = () => model.save_changes();
      /** @type {State<T>} */
      const state = {
        get: (trait) => model.get(trait),
        pick: (...traits) => /** @type {any} */ (Object.fromEntries(traits.map((trait) => [trait, model.get(trait)]))),
        set(trait, value) {
          model.set(trait, value);
          clearTimeout(timer);
          timer = window.setTimeout(save, 60); // Python needs the place where the hand rests, not every pixel on the way
        },
        show: (trait, value) => model.set(trait, value),
        shared: model,
      };
      el.append(root);
      const view = build(root, state);
      const update = () => view.update();
      model.on("change", update);
      let width = 0;
      const fit = (/** @type {number} */ next) => {
        if (!next || Math.abs(next - width) < 1) return;
        width = next;
        view.layout(width);
        view.update();
      };
      fit(root.clientWidth || 640);
      /** @type {(() => void) | null} */
      let restoreTwin = null;
      const observer = new ResizeObserver(() => {
        fit(root.clientWidth);
        if (root.isConnected) restoreTwin ??= replaceTwin(root);
      });
      observer.observe(root);
      return () => {
        view.leave?.();
        clearTimeout(timer);
        observer.disconnect();
        model.off("change", update);
        restoreTwin?.();
      };
    },
  };
}
