// Comments on lines: by the plus at a line, over several by dragging or with Shift, or in the form of the file.

import { all, byId, onProgress, parsed, say, send, show, warn } from "./page.js";

// A number is alone in its cell, but for the plus.
const numberIn = (cell) => parseInt(cell?.textContent, 10);
const plus = document.createElement("button");
plus.type = "button";
plus.className = "plus";
plus.tabIndex = -1;
plus.textContent = "+";

// The side and number of the line that a cell belongs to; null where there is none.
function placeOf(cell) {
  const row = cell?.closest(".diff tr");
  const article = row?.closest("article");
  if (!article || !article.querySelector(".line-comment, .talk form")) return null;
  const isSplit = row.closest("table").classList.contains("pair");
  const cells = all("td", row);
  const isOld = isSplit ? cells.indexOf(cell) < 3 : row.classList.contains("gone");
  const number = row.querySelector(isOld ? "td[data-old]" : "td[data-new]");
  const line = numberIn(number);
  return line ? { article, row, number, side: isOld ? "old" : "new", line } : null;
}

const rowAt = (article, side, line) => all(side === "old" ? "td[data-old]" : "td[data-new]", article)
  .find((cell) => numberIn(cell) === line && (side === "new" || !cell.closest("tr.same") || cell.closest(".pair")))
  ?.closest("tr");

// Choosing lines.

let from = null;

function hovered(event) {
  const place = placeOf(event.target.closest?.("td"));
  if (from) { if (place?.side === from.side && place.article === from.article) shade(from, place); return; }
  if (place) {
    place.number.append(plus);
    plus.setAttribute("aria-label", `Comment on ${place.side} line ${place.line}`);
  } else if (!plus.contains(event.target)) plus.remove();
}

function shade(start, end) {
  for (const row of all("tr.is-chosen")) row.classList.remove("is-chosen");
  const [first, last] = [start.line, end.line].sort((a, b) => a - b);
  for (let line = first; line <= last; line += 1) rowAt(start.article, start.side, line)?.classList.add("is-chosen");
}

function pressed(event) {
  if (event.button !== 0 || !plus.contains(event.target)) return;
  event.preventDefault();
  from = placeOf(plus.closest("td"));
  if (from) shade(from, from);
}

function released(event) {
  if (!from) return;
  const start = from;
  from = null;
  const end = placeOf(document.elementFromPoint(event.clientX, event.clientY)?.closest("td"));
  open(start.article, start.side, start.line, end?.side === start.side && end.article === start.article ? end.line : start.line);
}

let last = null;

function clickedNumber(event) {
  const cell = event.target.closest(".diff td.n");
  const place = !plus.contains(event.target) && placeOf(cell);
  if (!place) return;
  if (event.shiftKey && last?.article === place.article && last.side === place.side) {
    getSelection().removeAllRanges();
    open(place.article, place.side, last.line, place.line);
  } else {
    last = place;
    shade(place, place);
  }
}

// The form of a file goes below the last of the lines, and back when it is done.

export function open(article, side, start, end = start) {
  const form = article.querySelector("form[action*='/comment?']:not(.uncomment)");
  if (!form) return;
  const [first, final] = [start, end].sort((a, b) => a - b);
  form.elements.side.value = side;
  form.elements.start.value = first;
  form.elements.end.value = final;
  const row = rowAt(article, side, final);
  plus.remove();
  if (row) {
    putBack(form);
    const place = talkRow(row);
    place.classList.add("is-writing");
    place.firstElementChild.append(form);
    row.after(place);
    shade({ article, side, line: first }, { line: final });
  } else article.querySelector(".line-comment").open = true;
  form.elements.comment.focus();
}

function talkRow(row) {
  const place = document.createElement("tr");
  place.className = "talk";
  const cell = document.createElement("td");
  cell.colSpan = all("td", row).length;
  place.append(cell);
  return place;
}

function putBack(form) {
  const article = form.closest("article");
  const place = form.closest("tr.talk");
  article.querySelector(".line-comment").append(form);
  place?.remove();
  for (const row of all("tr.is-chosen")) row.classList.remove("is-chosen");
}

async function add(form) {
  const article = form.closest("article");
  const side = form.elements.side.value;
  const end = Number(form.elements.end.value);
  let answer;
  try {
    answer = await send(form, {});
  } catch (problem) {
    warn(`Your comment was not saved${problem.message ? `: ${problem.message}` : ""}. `);
    return;
  }
  form.elements.comment.value = "";
  putBack(form);
  article.querySelector(".line-comment").open = false;
  const comment = parsed(answer.html).querySelector(".comment");
  const row = rowAt(article, side, end);
  if (row) {
    const place = talkRow(row);
    place.firstElementChild.append(comment);
    row.after(place);
  } else byId(`body-${article.dataset.file}`).prepend(comment);
  comment.focus({ preventScroll: true });
  show(answer);
  say("Comment added");
}

async function remove(form) {
  const comment = form.closest(".comment");
  const article = form.closest("article");
  try {
    show(await send(form, {}));
  } catch {
    warn("Your comment was not removed. ");
    return;
  }
  (comment.closest("tr.talk") ?? comment).remove();
  article.focus({ preventScroll: true });
  say("Comment removed");
}

export function startComments() {
  document.addEventListener("pointerover", hovered);
  document.addEventListener("pointerdown", pressed);
  document.addEventListener("pointerup", released);
  document.addEventListener("click", clickedNumber);
  document.addEventListener("click", (event) => {
    const cancel = event.target.closest("[data-cancel]");
    if (!cancel) return;
    const details = cancel.closest("article").querySelector(".line-comment");
    putBack(cancel.form);
    details.open = false;
    details.firstElementChild.focus({ preventScroll: true });
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("form.uncomment")) { event.preventDefault(); remove(form); }
    if (form.matches(".line-comment form, .talk form:not(.uncomment)")) { event.preventDefault(); add(form); }
  });
  onProgress(({ words }) => {
    if (!words || !byId("comment-sum")) return;
    byId("comment-sum").textContent = words.comments;
    const count = byId("comment-count");
    count.hidden = !words.comments;
    if (words.comments) count.firstChild.data = parseInt(words.comments, 10);
  });
}
