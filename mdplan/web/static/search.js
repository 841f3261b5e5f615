// Search in all files of the plan, also in those that are not loaded.

import { all, byId, get, query, url } from "./page.js";

const PAUSE_MILLISECONDS = 200;
const field = byId("search");
let sought = "";
let timer = 0;

function panel() {
  const found = byId("found");
  if (found) return found;
  const made = document.createElement("section");
  made.id = "found";
  made.setAttribute("aria-label", "Found in the plan");
  field.form.append(made);
  return made;
}

async function search() {
  const text = field.value.trim();
  if (text === sought) return;
  sought = text;
  if (!text) { close(); return; }
  const answer = await get(`${url}/search?${query}&q=${encodeURIComponent(text)}`);
  if (text !== sought) return; // Somebody typed on.
  const place = panel();
  place.replaceChildren(...answer.querySelector("[data-part]").childNodes);
  place.querySelector(".found-sum").setAttribute("role", "status");
}

export function close() {
  byId("found")?.remove();
  sought = "";
}

export function startSearch() {
  if (!field) return;
  const later = () => { clearTimeout(timer); timer = setTimeout(() => search().catch(close), PAUSE_MILLISECONDS); };
  field.addEventListener("input", later);
  field.addEventListener("focus", later);
  field.form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await search().catch(close);
    all("#found a")[0]?.focus();
  });
  document.addEventListener("click", (event) => { if (!field.form.contains(event.target)) close(); });
  field.form.addEventListener("click", (event) => { if (event.target.closest("a[data-go]")) setTimeout(close); });
}
