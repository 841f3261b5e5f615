// What all parts of the page share. Text of files comes only as markup that the server has escaped.

export const body = document.body;
export const { plan, url, query, base } = body.dataset;

export const all = (selector, within = document) => [...within.querySelectorAll(selector)];
export const byId = (id) => document.getElementById(id);
export const say = (text) => { byId("live").textContent = text; };
export const parsed = (text) => new DOMParser().parseFromString(text, "text/html");

// For the eye as well.
export function warn(text) {
  const link = document.createElement("a");
  link.href = location.pathname + location.search;
  link.textContent = "Reload";
  byId("news").replaceChildren(text, link);
}

export function stored(name, fallback) {
  try { return JSON.parse(localStorage.getItem(name)) ?? fallback; } catch { return fallback; }
}

export function store(name, value) {
  try { localStorage.setItem(name, JSON.stringify(value)); } catch { /* It is forgotten, then. */ }
}

// The parts of a page that a script alone can use.
export function reveal(within = document) {
  for (const each of all(".needs-script", within)) each.hidden = false;
}

export async function get(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(String(answer.status));
  return parsed(await answer.text());
}

// Send a form with fields of our own; what the server knows afterwards.
export async function send(form, fields) {
  const data = new URLSearchParams(new FormData(form));
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  const answer = await fetch(form.action, { method: "POST", body: data, headers: { Accept: "application/json" } });
  if (!answer.ok) {
    const told = parsed(await answer.text()).querySelector(".problem p");
    throw new Error(told ? told.textContent : "");
  }
  return answer.json();
}

// How far the review is, as the server says it: other windows of the browser take part in it.
const listeners = [];
export const onProgress = (listener) => listeners.push(listener);
export function show(progress) {
  for (const listener of listeners) listener(progress);
}
