"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const buttons = [...document.querySelectorAll("[data-label]")];
  let annotator = "";
  let data = null;
  let states = [];
  let at = 0;
  let settling = false;
  let saves = Promise.resolve();

  async function ask(path, body) {
    const options = body && {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    };
    let reply;
    try {
      reply = await fetch(path, options);
    } catch {
      throw new Error("The server does not answer: is `simulrag label serve` still running? Nothing was saved.");
    }
    const found = await reply.json();
    if (!reply.ok) throw Object.assign(new Error(found.error), { conflict: reply.status === 409 });
    return found;
  }

  function problem(text) {
    byId("problem").textContent = text || "";
    byId("problem").hidden = !text;
  }

  // A claim is open to this person while she has not labelled it and it lacks labels of others;
  // one that is disputed is open to whoever settles it.
  const open = (state) =>
    settling ? state.disputed && !state.settled : !state.mine && state.others < data.wanted;
  const own = (state) =>
    settling ? (state.settled && state.settled.own ? state.settled : null) : state.mine;

  function listed() {
    return states.map((_, place) => place).filter((place) => !settling || states[place].disputed);
  }

  function nextOpen(from) {
    const places = listed();
    const ahead = places.filter((place) => place > from && open(states[place]));
    const behind = places.filter((place) => place <= from && open(states[place]));
    return [...ahead, ...behind][0];
  }

  function step(by) {
    const places = listed();
    const next = places[places.indexOf(at) + by];
    if (next !== undefined) show(next);
  }

  function show(place) {
    at = place;
    const claim = data.claims[place];
    const question = data.questions[claim.question_id];
    const state = states[place];
    const label = own(state);
    const places = listed();
    byId("question").textContent = question.question;
    byId("reference").textContent = question.reference;
    byId("evidence").textContent = question.evidence || "none";
    byId("claim").textContent = claim.text;
    byId("place").textContent =
      `${settling ? "Disagreement" : "Claim"} ${places.indexOf(place) + 1} of ${places.length} · ${question.domain} · ${claim.question_id}`;
    const settled = settling && state.settled && !state.settled.own;
    byId("said").hidden = !settling;
    byId("said").textContent = settling
      ? "Said: " + state.disputed.map((one) => one.label + (one.note ? ` (${one.note})` : "")).join(", ")
        + (settled ? `. Settled by somebody else: ${state.settled.label}.` : ".")
      : "";
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(Boolean(label) && label.label === button.dataset.label));
      button.disabled = Boolean(settled);
    }
    byId("note").value = label ? label.note : "";
    byId("clear").disabled = !label;
    byId("back").disabled = places[0] === place;
    byId("on").disabled = places[places.length - 1] === place;
    scrollTo(0, 0);
    count();
  }

  function count() {
    const mine = states.filter((state) => state.mine).length;
    const left = states.filter((state) => !state.mine && state.others < data.wanted).length;
    byId("progress").textContent = left
      ? `${mine} labelled, ${left} to do`
      : `${mine} labelled, all done`;
    byId("bar").value = mine;
    byId("bar").max = Math.max(mine + left, 1);
    const disputes = states.filter((state) => state.disputed && !state.settled).length;
    byId("settle").hidden = !settling && !states.some((state) => state.disputed);
    byId("settle").textContent = settling ? "Back to labelling" : `Settle disagreements (${disputes})`;
    byId("leave").textContent = `${annotator}: change`;
  }

  // Saves go one after another, each for the claim and note that were on the screen.
  function give(label, stay) {
    const place = at;
    const note = byId("note").value;
    saves = saves.then(() => save(place, label, note, stay));
  }

  async function save(place, label, note, stay) {
    const claim = data.claims[place];
    const before = own(states[place]);
    if (label === null && !before) return;
    try {
      states[place] = await ask("label", {
        annotator,
        question_id: claim.question_id,
        claim_hash: claim.claim_hash,
        label,
        expected: before ? before.label : null,
        note: label === null ? "" : note,
        adjudication: settling,
      });
      problem("");
      byId("saved").textContent = label === null ? "Taken away." : `Saved: ${label}.`;
      const next = stay || label === null ? place : nextOpen(place);
      // With nothing left open she stays where she is and sees that all is done.
      show(next === undefined ? place : next);
      if (!stay) byId("claim").focus({ preventScroll: true });
    } catch (error) {
      byId("saved").textContent = "";
      problem(error.message);
      if (error.conflict) {
        states = await ask("state?annotator=" + encodeURIComponent(annotator));
        show(place);
      }
    }
  }

  function settle() {
    if (!settling && !states.some((state) => state.disputed)) return;
    settling = !settling;
    byId("saved").textContent = "";
    const first = nextOpen(-1);
    show(first === undefined ? listed()[0] : first);
  }

  async function begin(name) {
    annotator = name.trim().toLowerCase();
    try {
      data = data || await ask("claims");
      states = await ask("state?annotator=" + encodeURIComponent(annotator));
    } catch (error) {
      problem(error.message);
      signIn();
      return;
    }
    localStorage.setItem("annotator", annotator);
    problem("");
    byId("sign-in").hidden = true;
    if (!data.claims.length) {
      problem("There is no claim to label.");
      return;
    }
    for (const id of ["work", "dock", "bar"]) byId(id).hidden = false;
    const first = nextOpen(-1);
    show(first === undefined ? 0 : first);
    byId("claim").focus({ preventScroll: true });
  }

  function signIn() {
    for (const id of ["work", "dock", "bar"]) byId(id).hidden = true;
    byId("progress").textContent = "";
    byId("sign-in").hidden = false;
    byId("name").focus();
  }

  function toggle(id) {
    byId(id).open = !byId(id).open;
    if (byId(id).open) byId(id).scrollIntoView({ block: "nearest" });
  }

  const keys = {
    t: () => give("true"),
    f: () => give("false"),
    u: () => give("undecided"),
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    o: () => { const next = nextOpen(at); if (next !== undefined) show(next); },
    Backspace: () => give(null),
    n: () => byId("note").focus(),
    e: () => toggle("evidence-box"),
    "?": () => toggle("help"),
    s: settle,
  };
  addEventListener("keydown", (event) => {
    if (byId("dock").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement) {
      if (event.key === "Escape" || event.key === "Enter") byId("claim").focus({ preventScroll: true });
      return;
    }
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || event.repeat && event.key.length === 1) return;
    event.preventDefault();
    if (buttons[0].disabled && ["t", "f", "u", "Backspace"].includes(event.key)) return;
    action();
  });
  // A note changed on a claim that has its label already is saved with that label.
  byId("note").addEventListener("change", () => {
    const label = data && own(states[at]);
    if (label && label.note !== byId("note").value.trim()) give(label.label, true);
  });
  buttons.forEach((button) => button.addEventListener("click", () => give(button.dataset.label)));
  byId("back").addEventListener("click", () => step(-1));
  byId("on").addEventListener("click", () => step(1));
  byId("clear").addEventListener("click", () => give(null));
  byId("settle").addEventListener("click", settle);
  byId("leave").addEventListener("click", () => { settling = false; signIn(); });
  byId("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    begin(byId("name").value);
  });
  const known = localStorage.getItem("annotator");
  if (known) {
    byId("name").value = known;
    begin(known);
  } else {
    signIn();
  }
})();
