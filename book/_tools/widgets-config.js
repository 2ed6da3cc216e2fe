/* Loaded after require.js and before the widget manager, on pages that have widgets. */
(function () {
  "use strict";
  // This file's own address: the libraries lie beside it, whatever the depth of the page or the scheme (http, file).
  const lib = new URL(".", document.currentScript.src).href;

  // The theme's icon library would replace the <i> elements that the Play widget keeps in its hands.
  window.FontAwesomeConfig = { ...(window.FontAwesomeConfig || {}), observeMutations: false };

  window.requirejs.config({
    baseUrl: lib,
    paths: {
      anywidget: lib + "anywidget/index",
      "@jupyter-widgets/html-manager": lib + "html-manager",
    },
  });

  // The widget manager asks for formulas in MathJax 2's way; the book has MathJax 3.
  const typeset = function (element) {
    const mathjax = window.MathJax;
    if (mathjax.startup && mathjax.startup.promise && mathjax.typesetPromise) {
      mathjax.startup.promise = mathjax.startup.promise.then(() => mathjax.typesetPromise([element]));
    }
  };
  window.MathJax = window.MathJax || {};
  window.MathJax.Hub = { Queue: (job) => typeset(job[2]), Config: () => {}, Configured: () => {} };
})();
