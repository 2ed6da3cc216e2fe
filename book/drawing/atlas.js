for (const root of document.querySelectorAll(".ln-atlas")) {
  const form = root.querySelector("form"), body = root.querySelector("tbody"), rows = [...body.rows];
  const show = () => {
    const words = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = (form.kind.value && row.dataset.kind !== form.kind.value) || (form.different.checked && !row.dataset.different)
        || !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
      const fold = row.querySelector("details");
      if (fold) {  // a word that is folded away is shown
        const seen = text.replace(fold.lastChild.textContent.toLowerCase(), "");
        fold.open = !words.every((word) => seen.includes(word));
      }
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length}`;
  };
  const sort = () => {
    const by = form.by.value, size = (row) => Number(row.dataset[by] || Infinity);
    body.append(...(by ? [...rows].sort((a, b) => size(a) - size(b)) : rows));
  };
  form.addEventListener("input", show);
  form.by.addEventListener("change", sort);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
}
