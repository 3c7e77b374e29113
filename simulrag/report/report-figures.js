"use strict";
// Figures that answer: pointing at a point, touching it or moving to it with the arrow keys says its
// value; a legend's entry hides its series; of alternatives (metric, budget, domain) one is shown.
(() => {
  const reach = 28; // pixels from the pointer to a point

  function element(tag, className, text) {
    const node = document.createElement(tag);
    node.className = className;
    node.textContent = text;
    return node;
  }

  function askable(plot) {
    const svg = plot.querySelector("svg");
    const marks = [...svg.querySelectorAll(".mark")];
    if (!marks.length) return;
    const tip = element("div", "tip", "");
    tip.hidden = true;
    tip.setAttribute("aria-hidden", "true"); // a point says the same as its name
    plot.append(tip);
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", plot.getAttribute("aria-label") + " Arrow keys move between its points.");
    svg.removeAttribute("aria-hidden");
    svg.querySelector("g").setAttribute("aria-hidden", "true");
    marks.forEach((mark, place) => {
      const title = mark.querySelector("title");
      mark.setAttribute("aria-label", title.textContent);
      mark.setAttribute("role", "img");
      mark.setAttribute("tabindex", place ? "-1" : "0");
      title.remove(); // the browser's own tip would lie on ours
    });
    let current = null;
    const visible = () => marks.filter((mark) => !mark.classList.contains("off"));

    function show(mark) {
      if (current) current.classList.remove("on");
      current = mark;
      tip.hidden = !mark;
      if (!mark) return;
      mark.classList.add("on");
      tip.textContent = mark.getAttribute("aria-label");
      const place = mark.getBoundingClientRect();
      const frame = plot.getBoundingClientRect();
      const x = place.x + place.width / 2 - frame.x - tip.offsetWidth / 2;
      const above = place.y - frame.y - tip.offsetHeight - 6;
      tip.style.left = `${Math.max(0, Math.min(x, frame.width - tip.offsetWidth))}px`;
      tip.style.top = `${above < 0 ? place.bottom - frame.y + 6 : above}px`;
    }

    function nearest(event) {
      let best = null;
      let least = reach;
      for (const mark of visible()) {
        const { x, y, width, height } = mark.getBoundingClientRect();
        const away = Math.hypot(x + width / 2 - event.clientX, y + height / 2 - event.clientY);
        if (away < least) [best, least] = [mark, away];
      }
      return best;
    }

    const focused = () => (marks.includes(document.activeElement) ? document.activeElement : null);
    plot.addEventListener("pointermove", (event) => show(nearest(event) || focused()));
    plot.addEventListener("pointerdown", (event) => show(nearest(event)));
    plot.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") show(focused()); // a finger that lifts leaves the tip
    });
    plot.addEventListener("focusin", (event) => show(event.target));
    plot.addEventListener("focusout", () => show(null));
    plot.addEventListener("keydown", (event) => {
      const next = beside(visible(), document.activeElement, event.key);
      if (!next) return;
      event.preventDefault();
      marks.forEach((mark) => mark.setAttribute("tabindex", mark === next ? "0" : "-1"));
      next.focus();
    });
    plot.addEventListener("hidden-series", () => {
      if (!visible().some((mark) => mark.getAttribute("tabindex") === "0")) {
        marks.forEach((mark) => mark.setAttribute("tabindex", mark === visible()[0] ? "0" : "-1"));
      }
    });
  }

  // Left and right along a series, up and down to the next series at the nearest place.
  function beside(marks, mark, key) {
    const line = marks.filter((other) => other.dataset.series === mark.dataset.series);
    const place = line.indexOf(mark);
    if (key === "ArrowRight") return line[place + 1];
    if (key === "ArrowLeft") return line[place - 1];
    if (key === "Home") return line[0];
    if (key === "End") return line[line.length - 1];
    if (key === "Escape") return void mark.blur();
    if (key !== "ArrowUp" && key !== "ArrowDown") return undefined;
    const names = [...new Set(marks.map((other) => other.dataset.series))];
    const step = key === "ArrowDown" ? 1 : -1;
    const name = names[(names.indexOf(mark.dataset.series) + step + names.length) % names.length];
    const away = (other) => Math.abs(other.getAttribute("cx") - mark.getAttribute("cx"));
    return marks
      .filter((other) => other.dataset.series === name)
      .reduce((best, other) => (away(other) < away(best) ? other : best));
  }

  // Entries become buttons; one hides its series in all alternatives of the figure.
  function legend(kind) {
    const entries = [...kind.querySelectorAll(".legend li")];
    for (const entry of entries) {
      const button = element("button", "", "");
      button.type = "button";
      button.append(...entry.childNodes);
      button.setAttribute("aria-pressed", "true");
      entry.append(button);
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        const name = button.textContent;
        for (const other of entries.filter((one) => one.textContent === name)) {
          other.firstChild.setAttribute("aria-pressed", String(shown));
          const place = [...other.parentNode.children].indexOf(other);
          const plot = other.closest("figure").querySelector(".plot");
          const parts = plot.querySelectorAll(`[data-series="${place}"]`);
          parts.forEach((part) => part.classList.toggle("off", !shown));
          plot.dispatchEvent(new Event("hidden-series"));
        }
      });
    }
  }

  function chooser(of, names, chosen, choose) {
    const label = element("label", "choice", of + " ");
    const select = document.createElement("select");
    select.dataset.of = of;
    select.append(...names.map((name) => new Option(name, name, false, name === chosen)));
    select.addEventListener("input", () => choose(select.value));
    label.append(select);
    return label;
  }

  // A metric or budget is chosen for every figure and domain at once: they stay comparable.
  function choose(of, name) {
    document.querySelectorAll(`figure[data-choice="${of}"]`).forEach((figure) => {
      figure.hidden = figure.dataset.name !== name;
    });
    document.querySelectorAll(`select[data-of="${of}"]`).forEach((select) => { select.value = name; });
  }

  document.querySelectorAll(".plot").forEach(askable);
  for (const kind of document.querySelectorAll(".kind")) {
    legend(kind);
    const alternatives = [...kind.querySelectorAll("figure[data-choice]")];
    if (alternatives.length < 2) continue;
    const of = alternatives[0].dataset.choice;
    const leading = kind.querySelector("[data-leading]").dataset.name;
    const names = alternatives.map((figure) => figure.dataset.name);
    kind.prepend(chooser(of, names, leading, (name) => choose(of, name)));
    kind.classList.add("one");
    choose(of, leading);
  }

  const results = [...document.querySelectorAll("section[data-domain]")];
  if (results.length > 1) {
    const names = ["all", ...results.map((section) => section.dataset.domain)];
    const control = chooser("Results of", names, "all", (name) => {
      results.forEach((section) => { section.hidden = name !== "all" && section.dataset.domain !== name; });
    });
    control.classList.add("domains");
    results[0].before(control);
    // A link to a hidden domain shows it first.
    document.querySelectorAll('a[href^="#domain-"]').forEach((link) => link.addEventListener("click", () => {
      document.querySelector(link.hash).closest("section").hidden = false;
    }));
  }
})();
