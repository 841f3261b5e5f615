// Edits: each is accepted, rejected or commented without loading the page again, and then the plan is decided.

import { all, byId, get, onProgress, say, send, show, warn } from "./page.js";
import { articles } from "./files.js";

// Marks go one after the other: leaving a comment for a button makes two. A mark without a choice is of a comment;
// it keeps the choice, which is known when the marks before it are saved.

let marking = Promise.resolve();
let onTheirWay = 0;
let areSaved = true;

const CHOICES = ["accept", "reject", "part"];
const choiceOf = (card) => CHOICES.find((each) => card.classList.contains(each)) ?? "none";

export function mark(form, choice) {
  onTheirWay += 1;
  marking = marking.then(() => sendMark(form, choice)).finally(() => { onTheirWay -= 1; });
}

async function sendMark(form, choice) {
  const card = form.closest("[data-edit]");
  const chosen = choice ?? choiceOf(card);
  const comment = form.elements.comment.value;
  try {
    show(await send(form, { mark: chosen, comment }));
  } catch {
    areSaved = false;
    warn("Your choice was not saved. ");
    return;
  }
  for (const other of all(`[data-edit="${card.dataset.edit}"] [name=comment]`)) {
    // In the form that was sent somebody may have typed on since then.
    if (!form.contains(other)) other.value = comment;
  }
  const words = { accept: "accepted", reject: "rejected", part: "accepted in part", none: "unmarked" };
  say(`${card.querySelector(".number").textContent} ${words[chosen]}. ${byId("sum").textContent}`);
}

function showMarks(marks) {
  for (const card of all("[data-edit]")) {
    const choice = marks[card.dataset.edit] ?? "none";
    if (choiceOf(card) === choice) continue;
    card.classList.remove(...CHOICES, "none");
    card.classList.add(choice);
    for (const button of all("[name=mark]", card)) {
      const own = button.classList.contains("accept") ? "accept" : "reject";
      button.setAttribute("aria-pressed", String(own === choice));
      button.value = own === choice ? "none" : own;
    }
  }
}

// Sections in place of a page of their own.

async function showSection(link) {
  const card = link.closest("[data-edit]");
  let part = card.querySelector(":scope > .rendered");
  if (part) {
    part.hidden = !part.hidden;
  } else {
    part = (await get(link.href)).querySelector("[data-part]");
    card.append(part);
  }
  link.setAttribute("aria-expanded", String(!part.hidden));
}

// A decision follows the marks that are on their way, and asks where files were not viewed.

const deciding = byId("decide");
let isAsked = false;
let settled = new Set((deciding?.dataset.settled ?? "").split(","));

async function decide(event) {
  const { submitter } = event;
  const unviewed = articles().filter((each) => !each.classList.contains("is-viewed") && !settled.has(each.dataset.file));
  const mustAsk = submitter?.matches("[data-approve]") && unviewed.length > 0 && !isAsked && byId("ask");
  if (!onTheirWay && areSaved && !mustAsk) return;
  event.preventDefault();
  while (onTheirWay) await marking;
  if (!areSaved) warn("A choice was not saved, so your decision was not saved either. ");
  else if (mustAsk) ask(unviewed, submitter);
  else deciding.requestSubmit(submitter);
}

function ask(unviewed, submitter) {
  const dialog = byId("ask");
  const count = `${unviewed.length.toLocaleString("en")} ${unviewed.length === 1 ? "file" : "files"}`;
  byId("ask-title").textContent = `${count} not viewed`;
  byId("ask-undecided").textContent = byId("undecided")?.textContent ?? "";
  dialog.querySelector(".names").replaceChildren(...unviewed.map((article) => {
    const item = document.createElement("li");
    item.append(article.querySelector(".path").cloneNode(true));
    return item;
  }));
  dialog.returnValue = "";
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "yes") return;
    isAsked = true;
    deciding.elements.unviewed.value = unviewed.map((each) => each.dataset.file).join(",");
    deciding.requestSubmit(submitter);
  }, { once: true });
  dialog.showModal();
}

export function startEdits() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form.mark")) return;
    event.preventDefault();
    // Enter in the comment is a submission by the first button: it keeps the choice.
    const isByKey = document.activeElement?.name === "comment" && form.contains(document.activeElement);
    mark(form, isByKey ? null : event.submitter.value);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("form.mark [name=comment]")) mark(event.target.form, null);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-section]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    showSection(link).catch(() => location.assign(link.href));
  });
  deciding?.addEventListener("submit", decide);
  onProgress(({ marks, verdicts, canApprove, words, settled: files }) => {
    if (!marks) return;
    showMarks(marks);
    if (!deciding) return;
    deciding.elements.verdicts.value = verdicts;
    settled = new Set(files.map(String));
    for (const button of all("[data-approve]")) button.disabled = !canApprove;
    if (!byId("undecided")) return;
    byId("sum").textContent = words.edits;
    byId("undecided").textContent = words.undecided;
  });
}
