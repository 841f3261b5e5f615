// Classes of equal changes: they load after the first files, open to their places, and are decided at once.

import { all, byId, get, onProgress, say, send, show, url, warn } from "./page.js";

const panel = byId("classes");

async function load() {
  const opened = new Set(all(".change-class:has(.places)", panel).map((each) => each.dataset.class));
  const list = (await get(`${url}/classes`)).querySelector("[data-part]");
  const place = byId("class-list");
  place.replaceChildren(list);
  for (const key of opened) await open(all("[data-open]", place).find((each) => each.closest("[data-class]").dataset.class === key));
}

async function open(link) {
  if (!link) return;
  const item = link.closest("[data-class]");
  const key = encodeURIComponent(item.dataset.class);
  const part = (await get(`${url}/classes?key=${key}`)).querySelector("[data-class]");
  item.replaceWith(part);
  part.querySelector(".places a")?.focus({ preventScroll: true });
}

async function choose(form, button) {
  const item = form.closest("[data-class]").dataset.class;
  const { part } = Object.fromEntries(new FormData(form));
  try {
    show(await send(form, { mark: button.value }));
  } catch {
    warn("Your choice was not saved. ");
    return;
  }
  await load();
  say(byId("sum")?.textContent ?? "");
  const kind = button.classList.contains("accept") ? "accept" : "reject";
  const again = all("form.choose", panel).find((each) => each.elements.part.value === part)
    ?? panel.querySelector(`[data-class="${item}"] form.choose`);
  again?.querySelector(`.${kind}`).focus({ preventScroll: true });
}

export function startClasses() {
  if (!panel) return;
  load().catch(() => { panel.hidden = true; });
  panel.addEventListener("submit", (event) => {
    if (!event.target.matches("form.choose")) return;
    event.preventDefault();
    choose(event.target, event.submitter);
  });
  panel.addEventListener("click", (event) => {
    const link = event.target.closest("[data-open]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(link).catch(() => location.assign(link.href));
  });
  let before = null;
  onProgress(({ verdicts }) => {
    // A choice on a card or in another window shows in its class.
    if (verdicts && before && verdicts !== before && !panel.contains(document.activeElement)) load().catch(() => {});
    before = verdicts ?? before;
  });
}
