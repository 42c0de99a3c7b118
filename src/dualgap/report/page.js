"use strict";
// The slider, the sorting of tables and the filter of names. The page reads well without any of it.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  document.documentElement.classList.add("js");

  const slider = document.getElementById("strength");
  const store = document.getElementById("path-values");
  if (slider && store) {
    const values = JSON.parse(store.textContent);
    const path = document.getElementById("path");
    const cursors = all("line[data-moves]", path);
    const followers = all("circle[data-moves]", path);
    const reads = all("[data-reads]", path);
    const weights = all("[data-weight]", path);
    const move = () => {
      const k = Number(slider.value);
      for (const line of cursors) {
        const x = values.cursors[line.dataset.moves][k];
        line.setAttribute("x1", x);
        line.setAttribute("x2", x);
      }
      for (const dot of followers) {
        const [x, y] = values.followers[dot.dataset.moves][k];
        dot.setAttribute("cx", x);
        dot.setAttribute("cy", y);
      }
      for (const text of reads) text.textContent = values.reads[text.dataset.reads][k];
      for (const line of weights) {
        const one = values.weights[line.dataset.weight];
        const bar = line.querySelector("i");
        bar.className = one.s[k] < 0 ? "minus" : "plus";
        bar.style.width = Math.abs(one.s[k]) + "%";
        line.querySelector(".value").textContent = one.w[k];
      }
      slider.setAttribute("aria-valuetext", values.reads.place[k]);
    };
    slider.addEventListener("input", move);
    move(); // a browser may restore another place when a page is loaded again
  }

  const content = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent : cell.dataset.v;
  };
  for (const button of all("button[data-sorts]")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const body = head.closest("table").tBodies[0];
      const numeric = button.dataset.sorts === "number";
      const down = head.getAttribute("aria-sort") === "descending" || (!numeric && !head.hasAttribute("aria-sort"));
      for (const other of all("th", head.parentNode)) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      const column = head.cellIndex;
      const order = (a, b) => {
        const [first, second] = [content(a, column), content(b, column)];
        if (!numeric) return first.localeCompare(second, undefined, { numeric: true });
        return (first === "" ? -Infinity : Number(first)) - (second === "" ? -Infinity : Number(second));
      };
      const rows = [...body.rows].sort((a, b) => (down ? order(a, b) : order(b, a)));
      body.append(...rows);
    });
  }

  for (const input of all("input[data-filters]")) {
    const name = input.dataset.filters;
    const rows = [...document.getElementById(name).tBodies[0].rows];
    const told = document.querySelector(`[data-counts="${name}"]`);
    input.addEventListener("input", () => {
      const wanted = input.value.toLocaleLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = !row.textContent.toLocaleLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      told.textContent = wanted ? `${shown} of ${rows.length}` : "";
    });
  }
})();
