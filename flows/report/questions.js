"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const index = JSON.parse(byId("index").textContent);
  const list = byId("list");
  const view = byId("trace");
  const blockSize = Number(document.querySelector(".browser").dataset.blockSize);
  const opened = new Map();
  let current = -1;

  // Traces lie in deflated blocks of questions; one is unpacked when a question of it is opened.
  function block(number) {
    if (!opened.has(number)) {
      const packed = atob(byId("block-" + number).textContent);
      const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      opened.set(number, new Response(stream).json());
    }
    return opened.get(number);
  }

  // All data enters the page as text nodes: nothing in a claim can become markup.
  function make(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    for (const child of children) {
      if (child !== null && child !== undefined) {
        node.append(child instanceof Node ? child : document.createTextNode(String(child)));
      }
    }
    return node;
  }

  const haystacks = index.map((entry) => (entry.id + " " + entry.text).toLowerCase());
  const more = byId("more");
  const page = 100; // buttons drawn at a time: thousands would make each key stroke slow
  let fitting = [];
  let drawn = 0;

  function button(place) {
    const entry = index[place];
    const state = entry.failed ? " · failed" : entry.verified ? "" : " · unverified";
    const id = make("span", "id", entry.id + state);
    if (entry.failed) id.classList.add("is-failed");
    const node = make("button", "", id, make("span", "text", entry.text));
    node.type = "button";
    node.dataset.place = place;
    node.setAttribute("aria-current", String(place === current));
    node.addEventListener("click", () => show(place, true));
    return make("li", "", node);
  }

  function drawMore() {
    const next = fitting.slice(drawn, drawn + page);
    list.append(...next.map(button));
    drawn += next.length;
    more.hidden = drawn === fitting.length;
    more.textContent = `Show ${Math.min(page, fitting.length - drawn)} more`;
  }

  function filter() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const domain = byId("domain").value;
    const standing = byId("standing").value;
    const failed = byId("failed").checked;
    fitting = [];
    index.forEach((entry, place) => {
      if (
        (!domain || entry.domain === domain) &&
        (!standing || entry.standings.includes(standing)) &&
        (!failed || entry.failed) &&
        words.every((word) => haystacks[place].includes(word))
      ) fitting.push(place);
    });
    list.replaceChildren();
    drawn = 0;
    drawMore();
    byId("count").textContent = `${fitting.length} of ${index.length} questions`;
  }

  function fact(name, value, className) {
    return make("span", "", name + " ", make("b", className || "", value));
  }

  function dots(support) {
    const row = make("span", "dots");
    support.forEach((on) => row.append(make("i", on ? "on" : "")));
    const count = support.filter(Boolean).length;
    row.setAttribute("role", "img");
    row.setAttribute("aria-label", `${count} of ${support.length} answers support this claim`);
    return make("span", "", "support ", row);
  }

  function edit(runs) {
    const tags = { same: "span", removed: "del", added: "ins" };
    return make("p", "", ...runs.map(([kind, text]) => make(tags[kind], "", text)));
  }

  function claim(item, place) {
    const verdict = item.verdict || "not verified";
    const facts = make(
      "div", "facts-line",
      dots(item.support),
      fact("confidence", item.confidence === null ? "—" : item.confidence.toFixed(3)),
      fact("verbalized", item.verbalized === null ? "not asked" : item.verbalized.toFixed(2)),
      fact("in the simulator's reach", item.boundary === null ? "not asked" : item.boundary ? "yes" : "no"),
      fact("selected", item.selected ? "yes" : "no"),
      fact("verdict", verdict, item.verdict ? "is-" + item.verdict : ""),
      fact("in the answer", item.kept ? "yes" : "no"),
    );
    const labels = make("div", "facts-line", fact("label", item.before.label, "is-" + item.before.label));
    if (item.edit) labels.append(fact("label after the edit", item.after.label, "is-" + item.after.label));
    const why = item.edit ? item.after.reason : item.before.reason;
    if (why) labels.append(make("span", "", why));
    const entry = make(
      "li", item.kept ? "kept" : "",
      make("p", "text", item.text),
      item.edit ? edit(item.edit) : null,
      item.edit && !item.selected
        ? make("p", "small", "Not selected within the budget, so the answer does not have this edit.")
        : null,
      item.reason ? make("p", "small is-error", item.reason) : null,
      facts,
      labels,
    );
    entry.id = "claim-" + (place + 1);
    entry.tabIndex = -1;
    return entry;
  }

  function graph(data) {
    const drawn = claimGraph(data.claims, data.claims[0].support.length, (place) => {
      const entry = byId("claim-" + (place + 1));
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      entry.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
      entry.focus({ preventScroll: true });
    });
    return section("Claim graph", ...drawn);
  }

  const verified = (budget) => (budget === null ? "" : `, budget ${budget} %`);

  function section(title, ...children) {
    return [make("h4", "", title), ...children];
  }

  async function show(place, focus) {
    current = place;
    list.querySelectorAll("button").forEach((node) => {
      node.setAttribute("aria-current", String(Number(node.dataset.place) === place));
    });
    if (focus) history.replaceState(null, "", "#q=" + encodeURIComponent(index[place].id));
    let data;
    try {
      data = (await block(Math.floor(place / blockSize)))[place % blockSize];
    } catch {
      const text = "This browser cannot unpack the page's data. Any browser of 2023 or later can.";
      view.replaceChildren(make("p", "warning", text));
      return;
    }
    // Another question may have been chosen while this one was unpacked.
    if (current === place) draw(data, focus);
  }

  function draw(data, focus) {
    const parts = [
      make("h3", "", data.id),
      make("p", "small", `${data.domain} · scenario ${data.scenario} · ${data.calls} model calls for all ways to answer it`),
    ];
    if (data.failure) {
      parts.push(make("p", "warning", `Failed at ${data.failure.step}: ${data.failure.reason}`));
    }
    parts.push(make("details", "", make("summary", "", "Question"), make("p", "", data.question)));
    parts.push(...section(
      `Final answer${data.marked ? ": " + data.method : ""}${verified(data.budget)}${data.verified ? "" : " (unverified)"}`,
      ...(data.stretches.length ? marked(data) : [make("p", "block", data.final || "none")]),
    ));
    if (data.says.length) {
      const line = data.marked ? stated : part;
      parts.push(...section(
        "What the answer says, and how far each part was checked",
        make("ol", "says", ...data.says.map((item) => line(data, item))),
      ));
    }
    parts.push(...section("Reference", make("p", "block", data.reference)));
    parts.push(...section("Evidence", ...evidence(data)));
    if (data.claims.length) parts.push(...graph(data));
    const claims = make("ol", "claims", ...data.claims.map(claim));
    if (data.claims.length || !data.marked) {
      parts.push(...section(`Claims (${data.claims.length})`, data.claims.length ? claims : make("p", "small", "none")));
    }
    const sampled = make("details", "", make("summary", "", `Closed-book answers (${data.closed_book.length})`));
    data.closed_book.forEach((text) => sampled.append(make("p", "block", text)));
    if (data.closed_book.length || !data.marked) parts.push(sampled);
    if (data.others.length) {
      const others = make("details", "", make("summary", "", `Other methods' answers (${data.others.length})`));
      data.others.forEach((other) => others.append(
        make("p", "small", `${other.method}${verified(other.budget)}, m = ${other.samples}`
          + (other.without_kappa ? ", without kappa" : "")
          + (other.budget === null ? "" : `: verified ${other.verified} claims, written from ${other.kept}`)),
        make("p", other.failure ? "block is-error" : "block", other.failure || other.text),
      ));
      parts.push(others);
    }
    if (data.made_by.length) parts.push(...calls(data));
    view.replaceChildren(...parts);
    if (focus) {
      view.focus({ preventScroll: true });
      if (matchMedia("(max-width: 46rem)").matches) view.scrollIntoView();
    }
  }

  const standings = {
    checked: "checked",
    corrected: "corrected by the simulator",
    unchecked: "not checked",
    outside: "outside the simulator's reach",
  };

  // The text with a sign behind each quote, what the signs mean, and what has no place in it.
  function marked(data) {
    const text = data.stretches.flatMap((item) => [stretch(item), ...item.endings.map((end) => sign(data, end))]);
    const meanings = data.signs.map((one) =>
      make("span", "stands-" + one.standing, make("b", "standing", one.sign), " " + one.meaning));
    const apart = data.says.filter((item) => item.start === null);
    return [
      make("p", "block marked", ...text),
      meanings.length ? make("p", "legend small", ...meanings.flatMap((item, at) => [at ? " · " : null, item])) : null,
      ...under(data.titles.no_place, apart.map((item) => stated(data, item))),
      ...under(data.titles.missing, data.missing.map((item) => make("li", "", item.text + " (", ...links(item.runs), ")"))),
    ].filter(Boolean);
  }

  const under = (title, items) =>
    items.length ? [make("p", "small", title + ":"), make("ul", "says", ...items)] : [];

  function stretch(item) {
    if (!item.standing) return item.text;
    const node = item.runs.length ? jump(item.text, "run-" + (item.runs[0] + 1)) : make("span", "", item.text);
    node.className = "stands-" + item.standing;
    node.title = item.words;
    return node;
  }

  const signOf = (data, standing) => data.signs.find((one) => one.standing === standing);

  const sign = (data, end) => make(
    "sup", "standing stands-" + end.standing, signOf(data, end.standing).sign,
    ...end.runs.flatMap((run, place) => [place ? "," : null, jump(run + 1, "run-" + (run + 1))]),
  );

  const links = (runs) => runs.flatMap((run, place) => [place ? ", " : null, jump(`run ${run + 1}`, "run-" + (run + 1))]);

  // A statement with what stands behind it: words, the runs, and what a wrong or corrected one said.
  function stated(data, item) {
    const { sign, words, by } = signOf(data, item.standing);
    const behind = by && item.runs.length ? [` ${by} `, ...links(item.runs)] : [];
    return make(
      "li", "stands-" + item.standing,
      make("p", "", item.text + " ", make("span", "standing", `${sign} ${words}`, ...behind)),
      item.before ? make("p", "small", "It said: " + item.before) : null,
      item.correction ? make("p", "small", "The evidence says: " + item.correction) : null,
    );
  }

  // One part of the answer; opened, it shows its claim, the verdict and the run.
  function part(data, item) {
    const entry = make("details", "", make("summary", "", item.text + " ", make("span", "standing", standings[item.standing])));
    entry.addEventListener("toggle", () => entry.append(...behind(data, item)), { once: true });
    return make("li", "stands-" + item.standing, entry);
  }

  function behind(data, item) {
    const claimed = data.claims[item.claim];
    const { label } = claimed[claimed.edit ? "after" : "before"];
    const parts = [
      make("p", "small", `Claim ${item.claim + 1}, as the sampled answers had it`),
      claimed.edit ? edit(claimed.edit) : make("p", "", claimed.text),
      make(
        "div", "facts-line",
        dots(claimed.support),
        fact("confidence", claimed.confidence === null ? "—" : claimed.confidence.toFixed(2)),
        fact("verdict", claimed.verdict || "not verified", claimed.verdict ? "is-" + claimed.verdict : ""),
        fact("label", label, "is-" + label),
        jump(`claim ${item.claim + 1} in full`, "claim-" + (item.claim + 1)),
      ),
      claimed.reason ? make("p", "small is-error", claimed.reason) : null,
    ];
    if (!["unchecked", "outside"].includes(item.standing)) {
      parts.push(make("p", "small", "The evidence it was read against"), ...runs(data));
    }
    if (data.made_by.length) parts.push(make("p", "small", jump("the calls behind it", "calls")));
    return parts.filter(Boolean);
  }

  // A step to another part of the question's page: the address names the question already.
  function jump(words, id) {
    const link = make("a", "", words);
    link.href = "#" + id;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = byId(id);
      target.scrollIntoView({ block: "center" });
      target.focus({ preventScroll: true });
    });
    return link;
  }

  // Every call that was made for the question, by the step that made it.
  function calls(data) {
    const rows = data.made_by.map((row) => make(
      "tr", "",
      make("th", "", row.stage), make("th", "", row.task || "simulator run"), make("td", "", row.keys.length),
      make("td", "prose", ...row.keys.flatMap((key) => [make("code", "", key), " "])),
    ));
    const heads = ["Stage", "Task", "Calls", "Keys"].map((name) => make("th", name === "Keys" ? "prose" : "", name));
    const table = make("table", "", make("thead", "", make("tr", "", ...heads)), make("tbody", "", ...rows));
    const region = make("div", "wide", table);
    region.id = "calls";
    region.tabIndex = 0;
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", "Calls behind this question");
    return section(
      "Calls behind this question", region,
      make("p", "small", make("code", "", "simulrag cache show KEY"), " prints what was asked and what came back."),
    );
  }

  const run = (item, ...before) => make(
    "div", "block", ...before, make("code", "", `${item.call}(${item.arguments}) seed ${item.seed}`), "\n", item.text,
    item.readable ? make("span", "small", "\n" + item.readable) : null,
  );
  const runs = (data) => data.evidence.map((item) => run(item));

  // A run that the answer's marks lead to.
  function numbered(item, place) {
    const node = run(item, make("b", "", `Run ${place + 1}`), "\n");
    node.id = "run-" + (place + 1);
    node.tabIndex = -1;
    return node;
  }

  function evidence(data) {
    const problems = data.retrieval ? data.retrieval.problems : [];
    const status = data.retrieval ? data.retrieval.status.replace("_", " ") : "not reached";
    return [
      make("p", "small", "Retrieval: " + status),
      ...(data.marked ? data.evidence.map(numbered) : runs(data)),
      ...problems.map((text) => make("p", "small is-error", text)),
    ];
  }

  // From any number to the questions that it is taken over.
  document.querySelectorAll("a.asked").forEach((link) => link.addEventListener("click", () => {
    byId("domain").value = link.dataset.asked;
    filter();
  }));
  more.addEventListener("click", drawMore);
  byId("filters").addEventListener("input", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  filter();
  // The address names a question: #q=ID.
  function linked() {
    const wanted = (location.hash.match(/^#q=(.*)$/) || [])[1] || "";
    return index.findIndex((entry) => encodeURIComponent(entry.id) === wanted);
  }
  async function follow() {
    const place = linked();
    if (place < 0) return;
    await show(place, false);
    view.scrollIntoView();
  }
  window.addEventListener("hashchange", follow);
  if (linked() >= 0) follow();
  else if (index.length) show(Math.max(index.findIndex((entry) => !entry.failed), 0), false);
})();
