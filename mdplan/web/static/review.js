// What the page can do beyond what works without a script: keyboard shortcuts, marks without loading again, sections
// in place, files that were seen, and news. Text of files comes only as markup that the server has escaped.
"use strict";

const body = document.body;
const plan = body.dataset.plan;
const POLL_MILLISECONDS = 2000;
const MOST_REMEMBERED = 50;

const all = (selector) => [...document.querySelectorAll(selector)];
const say = (text) => { document.getElementById("live").textContent = text; };
// For the eye as well.
const warn = (text) => {
  const link = document.createElement("a");
  link.href = location.pathname + location.search;
  link.textContent = "Reload";
  document.getElementById("news").replaceChildren(text, link);
};
const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

function stored(name, fallback) {
  try { return JSON.parse(localStorage.getItem(name)) ?? fallback; } catch { return fallback; }
}

function store(name, value) {
  try { localStorage.setItem(name, JSON.stringify(value)); } catch { /* It is forgotten, then. */ }
}

// Marks of edits, one after the other: leaving a comment for a button makes two. A mark without a verb is of a
// comment; it keeps the verdict, which is known when the marks before it are saved.

let marking = Promise.resolve();
let onTheirWay = 0;
let areSaved = true;

function mark(form, verb) {
  onTheirWay += 1;
  marking = marking.then(() => send(form, verb ?? marked(form.closest("[data-edit]")))).finally(() => { onTheirWay -= 1; });
}

async function send(form, verb) {
  const fields = new URLSearchParams(new FormData(form));
  fields.set("mark", verb);
  let sums;
  try {
    const answer = await fetch(form.action, { method: "POST", body: fields, headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(String(answer.status));
    sums = await answer.json();
  } catch {
    areSaved = false;
    warn("Your choice was not saved. ");
    return;
  }
  document.querySelector("#decision [name=verdicts]").value = sums.verdicts;
  const index = form.closest("[data-edit]").dataset.edit;
  for (const card of all(`[data-edit="${index}"]`)) {
    show(card, verb);
    // In the form that was sent somebody may have typed on meanwhile.
    if (!card.contains(form)) card.querySelector("[name=comment]").value = fields.get("comment");
  }
  const accepted = sums.edits - sums.rejected;
  const text = `${accepted.toLocaleString("en")} of ${sums.edits.toLocaleString("en")} ${sums.edits === 1 ? "edit" : "edits"} accepted`;
  document.getElementById("sum").textContent = text;
  for (const button of all("[data-approve]")) button.disabled = accepted === 0;
  say(`Edit ${index} ${verb}ed. ${text}`);
}

function show(card, verb) {
  const isRejected = verb === "reject";
  card.classList.toggle("rejected", isRejected);
  card.querySelector(".verdict").textContent = isRejected ? "✕ rejected" : "✓ accepted";
  for (const button of card.querySelectorAll("[name=mark]")) {
    button.setAttribute("aria-pressed", String(button.value === verb));
  }
}

function marked(card) {
  return card.querySelector("[name=mark][aria-pressed=true]").value;
}

for (const form of all("form.mark")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // Enter in the comment is a submission by the first button: it keeps the verdict that stands.
    const isByKey = document.activeElement?.name === "comment" && form.contains(document.activeElement);
    mark(form, isByKey ? null : event.submitter.value);
  });
  form.elements.comment.addEventListener("change", () => mark(form, null));
}

// A decision waits for the marks that are on their way: it is by them.

const deciding = document.querySelector("#decision form");

deciding?.addEventListener("submit", async (event) => {
  if (!onTheirWay && areSaved) return;
  event.preventDefault();
  const { submitter } = event;
  while (onTheirWay) await marking;
  if (areSaved) deciding.requestSubmit(submitter);
  else warn("A choice was not saved, so your decision was not saved either. ");
});

// Sections in place of a page of their own.

for (const link of all("[data-section]")) {
  link.setAttribute("role", "button");
  link.setAttribute("aria-expanded", "false");
  link.addEventListener("keydown", (event) => {
    if (event.key === " ") { event.preventDefault(); link.click(); }
  });
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const more = link.closest(".more");
    let part = more.querySelector(":scope > .rendered");
    if (part) {
      part.hidden = !part.hidden;
    } else {
      const answer = await fetch(link.href);
      part = parsed(await answer.text()).querySelector("[data-part]");
      if (!part) { location.assign(link.href); return; }
      more.append(part);
    }
    link.setAttribute("aria-expanded", String(!part.hidden));
  });
}

// Files that were seen.

function showSeen() {
  const seen = new Set(stored("mdplan-seen", {})[plan] ?? []);
  const buttons = all("button.seen");
  for (const button of buttons) {
    const file = Number(button.closest("[data-file]").dataset.file);
    button.hidden = false;
    button.setAttribute("aria-pressed", String(seen.has(file)));
    document.querySelector(`.files a[data-file="${file}"]`)?.classList.toggle("was-seen", seen.has(file));
  }
  const sum = document.querySelector(".seen-sum");
  if (sum && buttons.length > 1) {
    sum.hidden = false;
    sum.textContent = `${buttons.filter((each) => each.getAttribute("aria-pressed") === "true").length} of ${buttons.length} files viewed`;
  }
}

function toggleSeen(button) {
  const plans = stored("mdplan-seen", {});
  const file = Number(button.closest("[data-file]").dataset.file);
  const seen = new Set(plans[plan] ?? []);
  if (!seen.delete(file)) seen.add(file);
  delete plans[plan];
  plans[plan] = [...seen];
  store("mdplan-seen", Object.fromEntries(Object.entries(plans).slice(-MOST_REMEMBERED)));
  showSeen();
}

for (const button of all("button.seen")) button.addEventListener("click", () => toggleSeen(button));
if (plan) showSeen();

// Keys.

const dialog = document.getElementById("keys");
const switched = document.getElementById("keys-on");

function openKeys() { if (!dialog.open) dialog.showModal(); }

if (dialog) {
  switched.checked = stored("mdplan-keys", true);
  switched.addEventListener("change", () => store("mdplan-keys", switched.checked));
  for (const button of all("[data-open=keys]")) {
    button.hidden = false;
    button.addEventListener("click", openKeys);
  }
  document.addEventListener("keydown", pressed);
}

function isTyping(element) {
  return element.matches?.("textarea, input:not([type=checkbox])") || element.isContentEditable;
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") (event.target.closest("[data-edit]") ?? document.getElementById("main")).focus();
    return;
  }
  if (!switched.checked && event.key !== "?") return;
  const action = KEYS[event.key];
  if (action) { event.preventDefault(); action(); }
}

const stops = () => (plan ? all("[data-edit]") : all(".plan-card h2 a"));
const current = () => document.activeElement?.closest("[data-edit], .plan-card h2 a");

function step(by) {
  const places = stops();
  const at = places.indexOf(current());
  const next = places[at < 0 ? (by > 0 ? firstBelow(places) : -1) : at + by];
  if (next) { next.focus({ preventScroll: true }); next.scrollIntoView({ block: "start" }); }
}

function firstBelow(places) {
  const found = places.findIndex((place) => place.getBoundingClientRect().top >= 0);
  return found < 0 ? 0 : found;
}

function judge(verb) {
  const form = current()?.querySelector("form.mark");
  if (!form) return;
  mark(form, verb);
  if (verb === "reject") form.elements.comment.focus();
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  a: () => judge("accept"),
  r: () => judge("reject"),
  c: () => current()?.querySelector("[name=comment]")?.focus(),
  v: () => {
    const button = (current()?.closest("[data-file]") ?? document.querySelector("article[data-file]"))?.querySelector("button.seen");
    if (button) toggleSeen(button);
  },
  d: () => document.querySelector("#decision [name=comment]")?.focus(),
  "?": openKeys,
};

document.querySelector("[data-focus]")?.focus();

// News.

let known = body.dataset.news;

async function look() {
  const answer = await fetch(`${body.dataset.base}news`);
  if (!answer.ok) throw new Error(String(answer.status));
  const { news } = await answer.json();
  if (news === known) return;
  await (plan ? lookAtPlan() : lookAtList());
  known = news;
}

async function lookAtList() {
  const before = new Set(all("[data-plan].plan-card").map((card) => card.dataset.plan));
  const focused = current()?.closest(".plan-card")?.dataset.plan;
  const answer = await fetch(location.href);
  const list = parsed(await answer.text()).getElementById("plans");
  if (!list) return;
  document.getElementById("plans").replaceWith(list);
  if (focused) document.querySelector(`.plan-card[data-plan="${CSS.escape(focused)}"] h2 a`)?.focus();
  const n_new = all(".plan-card").filter((card) => !before.has(card.dataset.plan)).length;
  if (n_new) say(n_new === 1 ? "A new plan" : `${n_new} new plans`);
}

async function lookAtPlan() {
  const answer = await fetch(`${body.dataset.base}plan/${plan}/state`);
  if (!answer.ok) return;
  const { state } = await answer.json();
  if (state === body.dataset.state) return;
  warn(`This plan is now ${state === "waiting" ? "pending" : state}. `);
}

async function keepLooking() {
  try {
    if (!document.hidden) await look();
    setTimeout(keepLooking, POLL_MILLISECONDS);
  } catch {
    // The server ended, or the visit did: what is shown stays as it is.
    setTimeout(keepLooking, 10 * POLL_MILLISECONDS);
  }
}

if (known) setTimeout(keepLooking, POLL_MILLISECONDS);
// Files may have changed meanwhile, of which nobody sends news.
if (plan) addEventListener("focus", () => lookAtPlan().catch(() => {}));
