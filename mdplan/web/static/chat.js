// The review as an MCP App (SEP-1865): shows the plan of a tool's result, and sends what the person decides to the
// server, through the host. Text of files comes only as markup that the server has escaped.
"use strict";

const PROTOCOL = "2026-01-26";
const META = "mdplan/review";
const $ = (selector) => document.querySelector(selector);

// Messages to and from the host: JSON-RPC through `postMessage`.

let lastId = 0;
const pending = new Map();

function post(message) { window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); }

function request(method, params) {
  lastId += 1;
  post({ id: lastId, method, params });
  return new Promise((resolve, reject) => pending.set(lastId, { resolve, reject }));
}

const notices = {
  "ui/notifications/tool-result": (result) => { shown = show(result).catch(fail); },
  "ui/notifications/tool-cancelled": () => say("The preview was cancelled."),
  "ui/notifications/host-context-changed": applyContext,
};

window.addEventListener("message", ({ source, data }) => {
  if (source !== window.parent || data?.jsonrpc !== "2.0") return;
  if (data.method !== undefined) {
    notices[data.method]?.(data.params ?? {});
    // The host may ask whether the App is alive, or tell it that it ends.
    if (data.id !== undefined) post({ id: data.id, result: {} });
    return;
  }
  const waiting = pending.get(data.id);
  pending.delete(data.id);
  if (data.error) waiting?.reject(new Error(data.error.message)); else waiting?.resolve(data.result);
});

async function call(name, args) {
  const result = await request("tools/call", { name, arguments: args });
  // A nonce is for one call, also for one that is refused.
  const meta = result._meta?.[META];
  if (meta?.planId === plan.planId) Object.assign(plan, meta);
  if (result.isError) {
    const text = result.content?.map((part) => part.text ?? "").join("\n") || "The call failed.";
    throw Object.assign(new Error(text), { code: result.structuredContent?.error?.code });
  }
  return result;
}

function applyContext({ theme, styles }) {
  if (theme) {
    document.documentElement.dataset.theme = theme;
    document.documentElement.style.colorScheme = theme;
  }
  const fonts = styles?.variables ?? {};
  if (fonts["--font-sans"]) document.documentElement.style.setProperty("--text", fonts["--font-sans"]);
  if (fonts["--font-mono"]) document.documentElement.style.setProperty("--mono", fonts["--font-mono"]);
}

// The plan.

let shown = Promise.resolve();
let plan = null;
const choices = new Map();
const comments = new Map();
const viewed = new Set();

async function show(result) {
  const planId = result._meta?.[META]?.planId ?? result.structuredContent?.planId;
  if (!planId) {
    $("#plan").replaceChildren(result.isError ? "There is no plan: the agent has to correct its edits." : "There is nothing to review.");
    return;
  }
  plan = { planId, ...result._meta?.[META] };
  await load();
}

async function load() {
  const { structuredContent } = await call("md_review", { planId: plan.planId });
  plan.state = structuredContent.state;
  $("#plan").innerHTML = structuredContent.html;
  for (const file of document.querySelectorAll(".chat-file")) {
    file.addEventListener("toggle", () => { if (file.open) view(file); });
    if (viewed.has(file.dataset.file)) file.querySelector(".viewed").hidden = false;
    if (file.open) view(file);
  }
  offer();
}

async function view(file, first = 0) {
  const lines = file.querySelector(".chat-lines");
  if (first === 0 && file.dataset.loaded) return;
  file.dataset.loaded = "yes";
  const { structuredContent } = await call("md_review", { planId: plan.planId, file: Number(file.dataset.file), first });
  if (first === 0) lines.replaceChildren();
  lines.insertAdjacentHTML("beforeend", structuredContent.html);
  viewed.add(file.dataset.file);
  file.querySelector(".viewed").hidden = false;
  for (const card of lines.querySelectorAll("[data-edit]")) mark(card);
  for (const table of lines.querySelectorAll(".diff")) number(table, file);
  sum();
}

// Comments on lines. Each line has a button; the arrow keys lead from one to the next. With Shift a range ends there.

function number(table, file) {
  if (table.dataset.numbered || !plan.nonce) return;
  table.dataset.numbered = "yes";
  for (const row of table.tBodies[0].rows) {
    const [old, now] = [...row.querySelectorAll("td.n")];
    const side = now?.textContent.trim() ? "after" : "before";
    const line = Number((side === "after" ? now : old)?.textContent);
    if (!line) continue;
    // Where there is no room for old line numbers, the sign of a removed line is its button.
    const hasRoom = getComputedStyle(old).display !== "none";
    const cell = side === "after" ? now : hasRoom ? old : row.querySelector("td.s");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "on-line";
    button.tabIndex = table.querySelector(".on-line") ? -1 : 0;
    Object.assign(button.dataset, { line, side, file: file.dataset.path });
    button.setAttribute("aria-label", `Comment on line ${line}${side === "after" ? "" : " before the plan"}`);
    button.textContent = cell.textContent;
    cell.replaceChildren(button);
  }
}

document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !event.target.matches(".on-line")) return;
  const buttons = [...event.target.closest("table").querySelectorAll(".on-line")];
  buttons[buttons.indexOf(event.target) + step]?.focus();
  event.preventDefault();
});

const onLines = [];
let writing = null;

function comment(button, extends_) {
  const { file, side } = button.dataset;
  const line = Number(button.dataset.line);
  if (extends_ && writing?.place.file === file && writing.place.side === side) {
    writing.place.start = Math.min(writing.place.start, line);
    writing.place.end = Math.max(writing.place.end, line);
    name(writing);
    return;
  }
  writing = { place: { file, side, start: line, end: line, text: "" }, row: document.createElement("tr") };
  const { place, row } = writing;
  onLines.push(place);
  row.className = "talk";
  row.innerHTML = '<td><label><span></span><textarea rows="2" maxlength="2000" dir="auto"></textarea></label>'
    + '<button type="button">Delete</button></td>';
  const shownCells = [...button.closest("tr").cells].filter((cell) => getComputedStyle(cell).display !== "none");
  row.firstChild.colSpan = shownCells.length;
  row.querySelector("textarea").addEventListener("input", ({ target }) => { place.text = target.value; });
  row.querySelector("button").addEventListener("click", () => {
    onLines.splice(onLines.indexOf(place), 1);
    row.remove();
    button.focus();
  });
  name(writing);
  button.closest("tr").after(row);
  row.querySelector("textarea").focus();
}

function name({ place, row }) {
  const lines = place.start === place.end ? `line ${place.start}` : `lines ${place.start} to ${place.end}`;
  row.querySelector("span").textContent = `Comment on ${lines}${place.side === "before" ? " before the plan" : ""}`;
}

function mark(card) {
  const choice = choices.get(Number(card.dataset.edit));
  card.classList.toggle("accept", choice === "accept");
  card.classList.toggle("reject", choice === "reject");
  for (const button of card.querySelectorAll("[data-choice]")) {
    button.setAttribute("aria-pressed", String(button.dataset.choice === choice));
  }
  const field = card.querySelector("[data-comment]");
  if (comments.get(Number(card.dataset.edit))) field?.closest("details").setAttribute("open", "");
  if (field && document.activeElement !== field) field.value = comments.get(Number(card.dataset.edit)) ?? "";
}

document.addEventListener("click", ({ target, shiftKey }) => {
  const button = target.closest("button");
  if (!button) return;
  if (button.matches(".on-line")) comment(button, shiftKey);
  if (button.dataset.choice) choose(button);
  if (button.dataset.verb) decide(button.dataset.verb).catch(fail);
  if (button.dataset.first) {
    const file = button.closest(".chat-file");
    button.closest(".rest").remove();
    view(file, Number(button.dataset.first)).catch(fail);
  }
});

document.addEventListener("input", ({ target }) => {
  if (target.dataset.comment === undefined) return;
  comments.set(Number(target.closest("[data-edit]").dataset.edit), target.value);
});

function choose(button) {
  const edit = Number(button.closest("[data-edit]").dataset.edit);
  if (choices.get(edit) === button.dataset.choice) choices.delete(edit);
  else choices.set(edit, button.dataset.choice);
  for (const card of document.querySelectorAll(`[data-edit="${edit}"]`)) mark(card);
  sum();
}

// The decision.

const everyEdit = () => [...new Set([...document.querySelectorAll(".chat-file")].flatMap((file) => file.dataset.edits.split(" ").filter(Boolean).map(Number)))];
const chosen = (choice) => [...choices].filter(([, each]) => each === choice).map(([edit]) => edit);
const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

function sum() {
  const edits = everyEdit();
  const rejected = chosen("reject").length;
  const open = edits.filter((edit) => !choices.has(edit)).length;
  const files = document.querySelectorAll(".chat-file").length;
  $("#sum").textContent = `${chosen("accept").length} of ${counted(edits.length, "edit")} accepted`
    + (rejected ? `, ${rejected} rejected` : "") + (open ? `, ${open} open` : "")
    + `; ${viewed.size} of ${counted(files, "file")} viewed`;
}

function offer() {
  const isOpen = !["applied", "already so", "stale"].includes(plan.state);
  $("#decision").hidden = !plan.nonce || ["applied", "already so"].includes(plan.state);
  for (const button of document.querySelectorAll("[data-verb]")) {
    const verb = button.dataset.verb;
    if (verb.startsWith("approve")) button.hidden = !isOpen || !plan.mayApprove;
    if (verb === "apply") button.hidden = !isOpen || plan.mayApprove || !plan.mayApply;
  }
  const elsewhere = $("#elsewhere");
  elsewhere.hidden = plan.mayApprove || plan.mayApply || !isOpen;
  elsewhere.textContent = `Plans cannot be approved in this chat. To approve, run this in your own terminal: mdplan review ${plan.planId.slice(7, 19)}`;
  sum();
}

async function confirmed(text, yes) {
  const asked = $("#asked");
  asked.querySelector("p").textContent = text;
  asked.querySelector("[data-yes]").textContent = yes;
  asked.hidden = false;
  asked.querySelector("[data-yes]").focus();
  const answer = await new Promise((resolve) => {
    asked.querySelector("[data-yes]").onclick = () => resolve(true);
    asked.querySelector("[data-no]").onclick = () => resolve(false);
  });
  asked.hidden = true;
  return answer;
}

const onEdits = () => [...comments].filter(([, text]) => text.trim()).map(([edit, text]) => ({ edit, text }));

function isCommented() {
  return Boolean($("#comment").value.trim() || onEdits().length || onLines.some(({ text }) => text.trim()));
}

async function agrees(verb) {
  if (verb === "request_changes" && !isCommented()) {
    say("Say what to change: comment on the plan, on an edit, or on a line by its number.", true);
    return false;
  }
  if (verb === "reject") return confirmed("Reject the whole plan?", "Reject the plan");
  if (verb === "request_changes") return true;
  const edits = everyEdit();
  if (edits.length > 0 && chosen("reject").length === edits.length) {
    say("You rejected every edit: request changes, or reject the plan.", true);
    return false;
  }
  const open = edits.filter((edit) => !choices.has(edit)).length;
  const unseen = [...document.querySelectorAll(".chat-file")].filter((file) => !viewed.has(file.dataset.file));
  const parts = [];
  if (open) parts.push(`${counted(open, "edit")} without an answer will be accepted.`);
  if (unseen.length) parts.push(`${counted(unseen.length, "file")} not viewed: ${unseen.map((file) => file.dataset.path).join(", ")}.`);
  return parts.length === 0 || confirmed(parts.join(" "), verb === "approve" ? "Approve" : "Apply");
}

async function decide(verb) {
  say("");
  if (!await agrees(verb)) return;
  const buttons = document.querySelectorAll("[data-verb]");
  for (const button of buttons) button.disabled = true;
  try {
    const result = verb === "apply" ? await apply() : await call("md_decide", {
      planId: plan.planId,
      version: plan.version,
      nonce: plan.nonce,
      verb,
      rejected: verb.startsWith("approve") ? chosen("reject") : [],
      comment: $("#comment").value,
      editComments: onEdits(),
      lineComments: onLines.filter(({ text }) => text.trim()),
    });
    const message = result.structuredContent.message ?? "The accepted edits are applied.";
    say(message);
    await tell(message, verb);
    await load();
  } catch (error) {
    // Somebody else decided: what they say must be seen before this person decides again.
    if (error.code === "STALE_DECISION") {
      for (const seen of [choices, viewed]) seen.clear();
      await load();
    }
    throw error;
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

function apply() {
  const rejected = chosen("reject");
  const accept = everyEdit().filter((edit) => !rejected.includes(edit));
  return call("md_apply", { planId: plan.planId, ...(rejected.length ? { accept } : {}) });
}

// The agent hears of it with the next message, or at once where it has something to do. Not every host passes it on.
async function tell(message, verb) {
  const said = $("#comment").value.trim();
  const content = [{ type: "text", text: message + (said ? ` Comment: ${said}` : "") }];
  try {
    if (["request_changes", "approve"].includes(verb)) await request("ui/message", { role: "user", content });
    else await request("ui/update-model-context", { content });
  } catch { /* The agent learns of it when it asks. */ }
}

function say(text, isBad = false) {
  $("#said").textContent = text;
  $("#said").classList.toggle("bad", isBad);
}

function fail(error) { say(error.message, true); }

// The start.

new ResizeObserver(() => {
  const { width, height } = document.documentElement.getBoundingClientRect();
  post({ method: "ui/notifications/size-changed", params: { width: Math.ceil(width), height: Math.ceil(height) } });
}).observe(document.documentElement);

request("ui/initialize", {
  protocolVersion: PROTOCOL,
  appInfo: { name: "mdplan review", version: "1" },
  appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
}).then(({ hostContext }) => {
  applyContext(hostContext ?? {});
  post({ method: "ui/notifications/initialized", params: {} });
}).catch(fail);
