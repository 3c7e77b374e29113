"use strict";
// Figures that answer: pointing at a point, touching it or moving to it with the arrow keys says its
// value; a legend's entry hides its series; of alternatives (metric, budget) one is shown; a figure
// is saved as PNG. Without scripts all figures are there, with titles on their points.
(() => {
  const reach = 28; // pixels from the pointer to a point
  const onPaper = "#1b1f24";

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
    const reachable = (mark) => marks.forEach((one) => one.setAttribute("tabindex", one === mark ? "0" : "-1"));
    plot.addEventListener("pointermove", (event) => show(nearest(event) || focused()));
    plot.addEventListener("pointerdown", (event) => show(nearest(event)));
    plot.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") show(focused()); // a finger that lifts leaves the tip
    });
    plot.addEventListener("focusin", () => show(focused()));
    plot.addEventListener("focusout", () => show(null));
    plot.addEventListener("keydown", (event) => {
      const next = focused() && beside(visible(), focused(), event.key);
      if (!next) return;
      event.preventDefault();
      reachable(next);
      next.focus();
    });
    plot.addEventListener("hidden-series", () => {
      if (!visible().some((mark) => mark.getAttribute("tabindex") === "0")) reachable(visible()[0]);
    });
  }

  const across = (mark) => mark.transform.baseVal.getItem(0).matrix.e;

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
    if (names.length === 1) return line[place + step];
    const name = names[(names.indexOf(mark.dataset.series) + step + names.length) % names.length];
    const away = (other) => Math.abs(across(other) - across(mark));
    return marks
      .filter((other) => other.dataset.series === name)
      .reduce((best, other) => (away(other) < away(best) ? other : best));
  }

  // An entry of the legend hides its series in all alternatives of the figure.
  function legend(kind) {
    const keys = [...kind.querySelectorAll(".key")];
    function toggle(name, shown) {
      for (const key of keys.filter((one) => one.textContent === name)) {
        key.setAttribute("aria-pressed", String(shown));
        const plot = key.closest(".plot");
        plot.querySelectorAll(`[data-series="${key.dataset.key}"]`)
          .forEach((part) => part.classList.toggle("off", !shown));
        plot.dispatchEvent(new Event("hidden-series"));
      }
    }
    for (const key of keys) {
      key.setAttribute("role", "button");
      key.setAttribute("tabindex", "0");
      key.setAttribute("aria-pressed", "true");
      const press = () => toggle(key.textContent, key.getAttribute("aria-pressed") !== "true");
      key.addEventListener("click", press);
      key.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        press();
      });
    }
  }

  function save(figure) {
    const svg = figure.querySelector("svg").cloneNode(true);
    svg.querySelectorAll(".off").forEach((part) => part.remove());
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map((part) => 3 * part);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("color", onPaper);
    const image = new Image();
    image.addEventListener("load", () => {
      const canvas = Object.assign(document.createElement("canvas"), { width, height });
      const pen = canvas.getContext("2d");
      pen.fillStyle = "white";
      pen.fillRect(0, 0, width, height);
      pen.drawImage(image, 0, 0);
      const link = element("a", "", "");
      link.href = canvas.toDataURL("image/png");
      link.download = `${figure.id}.png`;
      link.click();
    });
    image.src = "data:image/svg+xml," + encodeURIComponent(new XMLSerializer().serializeToString(svg));
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

  // A table that is cut off says so; one in closed details is measured when it is opened.
  const widths = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      target.classList.toggle("scrolls", target.scrollWidth > target.clientWidth + 1);
    }
  });
  document.querySelectorAll(".wide").forEach((wide) => widths.observe(wide));
  document.querySelectorAll(".plot").forEach(askable);
  document.querySelectorAll("figure").forEach((figure) => {
    const button = element("button", "save", "Save as PNG");
    button.type = "button";
    button.addEventListener("click", () => save(figure));
    figure.querySelector("figcaption").append(" ", button);
  });
  document.querySelectorAll(".kind").forEach(legend);
  for (const grid of document.querySelectorAll(".figures")) {
    const alternatives = [...grid.querySelector(".kind").querySelectorAll("figure[data-choice]")];
    if (alternatives.length < 2) continue;
    const of = alternatives[0].dataset.choice;
    const leading = alternatives.find((figure) => "leading" in figure.dataset).dataset.name;
    const names = alternatives.map((figure) => figure.dataset.name);
    grid.before(chooser(of, names, leading, (name) => choose(of, name)));
    choose(of, leading);
  }

  const domains = [...new Set([...document.querySelectorAll(".kind")].map((kind) => kind.dataset.domain))];
  if (domains.length > 1) {
    document.querySelector(".contents").append(chooser("Show", ["all domains", ...domains], "all domains", (name) => {
      document.querySelectorAll("[data-domain]").forEach((part) => {
        part.hidden = name !== "all domains" && part.dataset.domain !== name;
      });
    }));
  }
})();
