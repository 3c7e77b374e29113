"use strict";
// The bipartite graph of one question: sampled answers to the left, claims to the right, an edge
// where an answer supports a claim. Lengths are in tenths of the text's size.
const claimGraph = (() => {
  const row = 22;
  const left = 13;
  const marks = { aligned: "✓", contradicted: "✎", indeterminate: "?", error: "!" };

  function node(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function vector(tag, attributes) {
    // The figures of a page with a question are in this name space.
    const made = document.createElementNS(document.querySelector("svg").namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  // Its shape says whether the simulator can check the claim, its size and depth how sure we are.
  function shape(item, right, y, share) {
    const size = 3 + 5 * share;
    const outline = {
      null: `M${right} ${y - size - 1}l${size + 1} ${size + 1}-${size + 1} ${size + 1}-${size + 1}-${size + 1}z`,
      false: `M${right - size} ${y - size}h${2 * size}v${2 * size}h${-2 * size}z`,
      true: `M${right} ${y - size}a${size} ${size} 0 1 1 0 ${2 * size}a${size} ${size} 0 1 1 0 ${-2 * size}z`,
    };
    return vector("path", {
      d: outline[item.boundary],
      class: item.verdict && item.verdict !== "error" ? "claim" : "claim unverified",
      style: `--share: ${Math.round(15 + 85 * share)}%`,
    });
  }

  function words(item, place) {
    const by = item.support.flatMap((on, answer) => (on ? [answer + 1] : []));
    const reach = { null: "reach not asked", false: "outside the simulator's reach", true: "in the simulator's reach" };
    return [
      `Claim ${place + 1}`,
      item.confidence === null ? "no confidence" : `confidence ${item.confidence.toFixed(3)}`,
      item.verdict || "not verified",
      reach[item.boundary],
      by.length ? `supported by answers ${by.join(", ")}` : "supported by no answer",
      item.kept ? "in the final answer" : "not in the final answer",
    ].join(", ");
  }

  return (claims, answers, open) => {
    const width = matchMedia("(max-width: 46rem)").matches ? 80 : 110;
    const right = width - 14;
    const height = Math.max(claims.length, answers) * row;
    const answerY = (place) => ((place + 0.5) * height) / answers;
    const claimY = (place) => ((place + 0.5) * height) / claims.length;
    const most = Math.max(...claims.map((item) => item.confidence || 0));
    const svg = vector("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    const edges = [];
    claims.forEach((item, place) => item.support.forEach((on, answer) => {
      if (!on) return;
      const [from, to, middle] = [answerY(answer), claimY(place), (left + right) / 2];
      const d = `M${left} ${from}C${middle} ${from} ${middle} ${to} ${right} ${to}`;
      const edge = vector("path", { d, class: "edge" });
      edges.push({ edge, answer, place });
      svg.append(edge);
    }));
    claims.forEach((item, place) => svg.append(shape(item, right, claimY(place), most ? (item.confidence || 0) / most : 0)));

    const picture = node("div", { class: "sides", style: `width: ${width / 10}em; height: ${height / 10}em` }, svg);
    const list = node("ol", { "aria-label": "Claims of the graph" });
    const graph = node("div", { class: "graph" }, picture, list);

    // Lit: the edges of one answer or claim; the others step back.
    function light(fits) {
      graph.classList.toggle("lit", Boolean(fits));
      edges.forEach((one) => one.edge.classList.toggle("on", Boolean(fits && fits(one))));
    }
    function lights(target, fits) {
      target.addEventListener("pointerenter", () => light(fits));
      target.addEventListener("pointerleave", () => light(null));
      target.addEventListener("focus", () => light(fits));
      target.addEventListener("blur", () => light(null));
    }

    for (let answer = 0; answer < answers; answer += 1) {
      const supported = edges.filter((one) => one.answer === answer).length;
      const button = node("button", {
        type: "button",
        style: `top: ${answerY(answer) / 10}em`,
        "aria-label": `Answer ${answer + 1} supports ${supported} of ${claims.length} claims`,
      }, `A${answer + 1}`);
      lights(button, (one) => one.answer === answer);
      picture.append(button);
    }
    claims.forEach((item, place) => {
      const verdict = item.verdict || "not verified";
      const link = node(
        "a", { href: `#claim-${place + 1}`, "aria-label": words(item, place), class: item.kept ? "kept" : "" },
        node("b", {}, item.confidence === null ? "—" : item.confidence.toFixed(2)),
        node(
          "span", { class: item.verdict ? `verdict is-${item.verdict}` : "verdict" },
          `${marks[item.verdict] || "·"} `, node("span", { class: "word" }, verdict),
        ),
        node("span", { class: "text" }, `${place + 1}. ${item.text}`),
      );
      link.addEventListener("click", (event) => {
        event.preventDefault(); // the address names the question
        open(place);
      });
      lights(link, (one) => one.place === place);
      list.append(node("li", { style: `height: ${height / claims.length / 10}em` }, link));
    });
    return [graph, node(
      "p", { class: "small" },
      "Left: sampled answers. Right: claims, larger and deeper the more confident; ● in the simulator's "
      + "reach, ■ outside it, ◆ not asked; dashed where not verified. ✓ aligned, ✎ contradicted, "
      + "? indeterminate, ! error, · not verified. Bold: in the final answer. The list below says "
      + "the same in words.",
    )];
  };
})();
