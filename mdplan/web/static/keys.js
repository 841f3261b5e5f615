// Keyboard shortcuts. They can be turned off, for those whose tools send single keys.

import { all, byId, plan, store, stored } from "./page.js";
import { articles, isLater, load, toggleViewed } from "./files.js";
import { mark } from "./edits.js";
import { open as openComment } from "./comments.js";
import { close as closeSearch } from "./search.js";

const dialog = byId("keys");
const switched = byId("keys-on");

const current = (selector) => document.activeElement?.closest(selector);
const isTyping = (element) => element.matches?.("textarea, select, input:not([type=checkbox])") || element.isContentEditable;
const top = () => (byId("tools")?.getBoundingClientRect().bottom ?? 0);

function firstBelow(places) {
  const found = places.findIndex((place) => place.getBoundingClientRect().bottom > top() + 1);
  return found < 0 ? 0 : found;
}

function focusOn(place) {
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: "start" });
}

async function step(by) {
  const selector = plan ? "[data-edit], article[data-later]:not(.is-folded)" : ".plan-card h2 a";
  const places = all(selector);
  const here = current("[data-edit]") ?? current(selector);
  let at = places.indexOf(here);
  if (at < 0) {
    // From a file that is collapsed or has no edit, on to the next one after it.
    const file = current("article[data-file]");
    const after = file && places.findIndex((each) => file.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
    at = file && after >= 0 ? after - (by > 0 ? 1 : 0) : firstBelow(places) - (by > 0 ? 1 : 0);
  }
  const next = places[at + by];
  if (!next) return;
  if (!next.matches("article")) { focusOn(next); return; }
  await load(next);
  const edits = all("[data-edit]", next);
  focusOn((by > 0 ? edits[0] : edits.at(-1)) ?? next);
}

function stepFile(by) {
  const files = articles();
  const here = files.indexOf(current("article[data-file]"));
  const next = files[here < 0 ? firstBelow(files) : here + by];
  // It loads as it comes into view, unless the reader goes on at once.
  if (next) focusOn(next);
}

const currentFile = () => current("article[data-file]") ?? articles()[firstBelow(articles())];

function choose(choice) {
  const form = current("[data-edit]")?.querySelector("form.mark");
  if (!form) return;
  mark(form, choice);
  if (choice === "reject") {
    form.querySelector(".say").open = true;
    form.elements.comment.focus();
  }
}

function comment() {
  const card = current("[data-edit]");
  const article = card?.closest("article") ?? currentFile();
  if (card?.dataset.line) openComment(article, card.dataset.side, Number(card.dataset.line));
  else if (article && !isLater(article)) openComment(article, "new", Number(article.querySelector(".line-comment [name=start]")?.value ?? 1));
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  n: () => stepFile(1),
  p: () => stepFile(-1),
  a: () => choose("accept"),
  r: () => choose("reject"),
  c: comment,
  v: () => { const file = currentFile(); if (file) toggleViewed(file); },
  t: () => {
    if (byId("tree-toggle")?.getAttribute("aria-expanded") === "false") byId("tree-toggle").click();
    byId("filter")?.focus();
  },
  "/": () => byId("search")?.focus(),
  d: () => {
    const decision = byId("decision");
    if (!decision?.matches("details")) return;
    decision.open = true;
    decision.querySelector("textarea").focus();
  },
  "?": openKeys,
};

function openKeys() { if (!dialog.open) dialog.showModal(); }

function leave(target) {
  if (byId("found")) { closeSearch(); return; }
  const decision = byId("decision");
  if (decision?.matches("details[open]") && decision.contains(target)) {
    decision.open = false;
    decision.querySelector("summary").focus();
    return;
  }
  const writing = target.closest(".talk form");
  if (writing && !writing.elements.comment.value) { writing.querySelector("[data-cancel]").click(); return; }
  if (isTyping(target)) (target.closest("[data-edit], article") ?? byId("main")).focus();
}

// Sends a comment. Of the decision, which has several buttons, it goes to the first one.
function send(form) {
  if (form?.id === "decide") form.querySelector(".buttons button:not([disabled])").focus();
  else form?.requestSubmit();
}

function pressed(event) {
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && isTyping(event.target)) {
    event.preventDefault();
    send(event.target.form);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") { leave(event.target); return; }
  if (isTyping(event.target)) return;
  if (!switched.checked && event.key !== "?") return;
  const action = Object.hasOwn(KEYS, event.key) && KEYS[event.key];
  if (action) { event.preventDefault(); action(); }
}

export function startKeys() {
  if (!dialog) return;
  switched.checked = stored("mdplan-keys", true);
  switched.addEventListener("change", () => store("mdplan-keys", switched.checked));
  for (const button of all("[data-open=keys]")) button.addEventListener("click", openKeys);
  document.addEventListener("keydown", pressed);
  // What is scrolled to stays clear of the bar, which wraps in narrow windows.
  const tools = byId("tools");
  if (tools) new ResizeObserver(() => document.documentElement.style.setProperty("--tools", `${tools.offsetHeight}px`)).observe(tools);
}
