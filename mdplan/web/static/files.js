// Files: they are loaded as they come into view and unloaded far from it, collapse once they are viewed, and show
// more lines around changes. Links lead to lines of files that are not loaded yet.

import { all, byId, get, onProgress, query, reveal, say, send, show, url, warn } from "./page.js";

const LINE_PIXELS = 21;
const LOAD_WITHIN = "1500px 0px";
const KEEP_WITHIN = "6000px 0px";
const FILES_OF_AN_ANSWER = 10;

export const articles = () => all("article[data-file]");
export const articleOf = (file) => byId(`file-${file}`);
export const isLater = (article) => "later" in article.dataset;
const isFolded = (article) => article.classList.contains("is-folded");
const leafOf = (file) => document.querySelector(`#files a[data-go="${file}"]`)?.closest("li");

// Loading and unloading.

const wanted = new Set();
let loading = null;

export async function load(article) {
  if (!isLater(article)) return;
  wanted.add(article);
  while (isLater(article)) {
    const before = article.dataset.later;
    await loadWanted(article);
    if (article.dataset.later === before) return; // It cannot be loaded.
  }
}

async function loadWanted(first) {
  while (loading) await loading;
  const next = [...new Set(first ? [first, ...wanted] : wanted)].filter(isLater).slice(0, FILES_OF_AN_ANSWER);
  if (next.length === 0) return;
  loading = fetchFiles(next).finally(() => { loading = null; });
  await loading;
  if (wanted.size && !first) loadWanted();
}

async function fetchFiles(next) {
  for (const article of next) wanted.delete(article);
  try {
    const answer = await get(`${url}/files?${query}&files=${next.map((each) => each.dataset.file).join(",")}`);
    keepPlace(() => {
      for (const article of next) {
        const fresh = answer.getElementById(article.id);
        if (fresh) fill(article, fresh);
      }
    });
  } catch {
    warn("A file could not be loaded. ");
  }
}

// What the reader looks at stays where it is, while files above it become higher or lower.
function keepPlace(change) {
  const top = byId("tools").getBoundingClientRect().bottom;
  const anchor = articles().find((each) => each.getBoundingClientRect().bottom > top + 1);
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (anchor) scrollBy(0, anchor.getBoundingClientRect().top - before);
}

function fill(article, fresh) {
  const focused = article.contains(document.activeElement) && article !== document.activeElement;
  article.replaceChildren(...fresh.childNodes);
  article.className = fresh.className;
  article.setAttribute("aria-labelledby", fresh.getAttribute("aria-labelledby"));
  delete article.dataset.later;
  article.style.minHeight = "";
  reveal(article);
  if (focused) article.focus({ preventScroll: true });
}

function unload(article) {
  const isUsed = article.contains(document.activeElement) || "kept" in article.dataset
    || all("textarea", article).some((each) => each.value) || article.contains(getSelection()?.anchorNode);
  if (isLater(article) || isFolded(article) || isUsed) return;
  article.style.minHeight = `${article.offsetHeight}px`;
  article.dataset.later = "again";
  byId(`body-${article.dataset.file}`).replaceChildren();
}

function watch() {
  const near = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && isLater(target) && !isFolded(target)) wanted.add(target);
      else wanted.delete(target);
    }
    if (wanted.size && !loading) loadWanted();
  }, { rootMargin: LOAD_WITHIN });
  const kept = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (!isIntersecting) unload(target);
  }, { rootMargin: KEEP_WITHIN });
  const read = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      leafOf(target.dataset.file)?.firstElementChild.classList.toggle("is-read", isIntersecting);
    }
  }, { rootMargin: "-25% 0px -70% 0px" });
  for (const article of articles()) {
    if (isLater(article)) article.style.minHeight = `${article.dataset.height * LINE_PIXELS}px`;
    for (const observer of [near, kept, read]) observer.observe(article);
  }
}

// Collapsing and viewed marks.

export async function fold(article, isFolding) {
  article.classList.toggle("is-folded", isFolding);
  article.querySelector(".fold")?.setAttribute("aria-expanded", String(!isFolding));
  if (isFolding) return;
  const body = byId(`body-${article.dataset.file}`);
  if (body?.querySelector(".later")) article.dataset.later = "folded";
  await load(article);
}

export async function toggleViewed(article) {
  await load(article);
  const form = article.querySelector("form.view");
  if (!form) return;
  const isViewed = form.elements.viewed.value === "1";
  try {
    show(await send(form, { viewed: isViewed ? "1" : "0" }));
    say(byId("viewed-sum").textContent);
  } catch {
    warn("The mark was not saved. ");
  }
}

function showViewed(viewed) {
  for (const article of articles()) {
    const file = Number(article.dataset.file);
    const isViewed = viewed.has(file);
    const leaf = leafOf(file);
    if (leaf && leaf.classList.contains("was-viewed") !== isViewed) {
      leaf.classList.toggle("was-viewed", isViewed);
      leaf.querySelector(".tick")?.remove();
      if (isViewed) leaf.firstElementChild.insertAdjacentHTML("beforeend", "<span class='unseen tick'> viewed</span>");
    }
    const button = article.querySelector("button.viewed");
    if (!button) { article.classList.toggle("is-viewed", isViewed); continue; }
    if ((button.getAttribute("aria-pressed") === "true") === isViewed) continue;
    button.setAttribute("aria-pressed", String(isViewed));
    button.value = isViewed ? "0" : "1";
    article.classList.toggle("is-viewed", isViewed);
    const isAbove = article.getBoundingClientRect().top < 0;
    fold(article, isViewed);
    if (isViewed && isAbove) article.scrollIntoView({ block: "start" });
  }
}

// More lines.

async function expand(button) {
  const place = button.closest(".expand");
  const article = place.closest("article");
  const first = Number(place.dataset.first);
  const last = Number(place.dataset.last);
  const many = Math.min(button.dataset.expand === "all" ? 250 : 20, last - first + 1);
  const isBefore = place.dataset.where === "before";
  const [from, to] = isBefore ? [last - many + 1, last] : [first, first + many - 1];
  await insertLines(article, place, from, to);
  say(`${many} more lines`);
}

async function insertLines(article, place, from, to) {
  const lines = `first=${from}&last=${to}&edits=${place.dataset.edits}`;
  const answer = await get(`${url}/file/${article.dataset.file}/lines?${query}&${lines}`);
  const rows = all("tr", answer);
  const table = place.closest(".hunk").querySelector(".diff tbody");
  article.dataset.kept = "";
  if (place.dataset.where === "before") {
    table.prepend(...rows);
    place.dataset.last = from - 1;
  } else {
    table.append(...rows);
    place.dataset.first = to + 1;
  }
  const left = place.dataset.last - place.dataset.first + 1;
  const hadFocus = place.contains(document.activeElement);
  if (left <= 20) place.querySelector('[data-expand="20"]')?.remove();
  if (left <= 0) place.remove();
  else place.querySelector('[data-expand="all"]').firstChild.data = `Expand ${left} ${left === 1 ? "line" : "lines"}`;
  if (hadFocus && !place.contains(document.activeElement)) focus(rows[0]);
}

async function showRest(link) {
  const article = link.closest("article");
  const answer = await get(link.dataset.rest);
  const more = answer.querySelector("[data-body]");
  const place = link.closest(".rest");
  const first = more.firstElementChild;
  article.dataset.kept = "";
  reveal(more);
  place.replaceWith(...more.childNodes);
  focus(first);
}

function focus(element) {
  if (!element) return;
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

// Going to a place.

const LINE = /^f(\d+)([LR])(\d+)$/;
const EDIT = /^edit-(\d+)(?:-file-(\d+))?$/;

function fileOf(id) {
  const line = LINE.exec(id);
  if (line) return line[1];
  const edit = EDIT.exec(id);
  if (edit) {
    return edit[2] ?? articles().find((each) => each.dataset.edits?.split(" ").includes(edit[1]))?.dataset.file;
  }
  return /^file-(\d+)$/.exec(id)?.[1];
}

export async function goTo(id) {
  const file = fileOf(id);
  const article = file === undefined ? null : articleOf(file);
  if (article) {
    if (isFolded(article)) await fold(article, false);
    else if (!id.startsWith("file-")) await load(article);
    else load(article);
    await showLine(article, id);
  }
  const target = byId(id) ?? article;
  if (!target) return false;
  for (const each of all(".is-target")) each.classList.remove("is-target");
  target.classList.add("is-target");
  focus(target);
  target.scrollIntoView({ block: LINE.test(id) ? "center" : "start" });
  return true;
}

// A line between two hunks: it gets on the page with the lines from there to the hunk.
async function showLine(article, id) {
  const line = LINE.exec(id);
  if (!line || byId(id)) return;
  const number = Number(line[3]);
  const place = all(".expand", article).find((each) => each.dataset.first <= number && number <= each.dataset.last);
  if (!place || line[2] === "L") return;
  if (place.dataset.where === "before") await insertLines(article, place, number, Number(place.dataset.last));
  else await insertLines(article, place, Number(place.dataset.first), number);
}

function clicked(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
  const button = event.target.closest(".fold, [data-expand]");
  if (button) {
    if (button.dataset.expand) expand(button).catch(() => warn("The lines could not be loaded. "));
    else fold(button.closest("article"), button.getAttribute("aria-expanded") === "true");
    return;
  }
  const link = event.target.closest("a[href]");
  if (!link) return;
  if (link.dataset.rest) {
    event.preventDefault();
    showRest(link).catch(() => location.assign(link.href));
  } else if ((link.dataset.go && articleOf(link.dataset.go)) || link.getAttribute("href").startsWith("#f")
    || link.getAttribute("href").startsWith("#edit-")) {
    event.preventDefault();
    history.pushState(null, "", link.hash);
    goTo(link.hash.slice(1));
  } else if (link.closest(".later, .file-head")) {
    event.preventDefault();
    fold(link.closest("article"), false);
  }
}

// The tree.

function filterTree(text) {
  const sought = text.trim().toLowerCase();
  for (const leaf of all("#files .leaf")) {
    const path = articleOf(leaf.firstElementChild.dataset.go)?.querySelector(".path")?.textContent ?? leaf.textContent;
    leaf.hidden = !path.toLowerCase().includes(sought);
  }
  for (const folder of all("#files details")) {
    const isEmpty = all(".leaf", folder).every((leaf) => leaf.hidden);
    folder.parentElement.hidden = isEmpty;
    if (sought && !isEmpty) folder.open = true;
  }
  byId("no-files").hidden = all("#files .leaf").some((leaf) => !leaf.hidden);
}

function showTree(isShown) {
  byId("tree-toggle").setAttribute("aria-expanded", String(isShown));
  document.querySelector(".columns").classList.toggle("without-tree", !isShown);
}

export function startFiles() {
  watch();
  document.addEventListener("click", clicked);
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.view")) return;
    event.preventDefault();
    toggleViewed(event.target.closest("article"));
  });
  onProgress(({ viewed, words }) => {
    if (!viewed) return;
    showViewed(new Set(viewed));
    if (!byId("viewed-sum")) return;
    byId("viewed-sum").textContent = words.viewed;
    byId("viewed-bar").value = viewed.length;
  });
  const toggle = byId("tree-toggle");
  toggle?.addEventListener("click", () => showTree(toggle.getAttribute("aria-expanded") !== "true"));
  if (toggle && matchMedia("(max-width: 56rem)").matches) showTree(false);
  byId("filter")?.addEventListener("input", (event) => filterTree(event.target.value));
  addEventListener("hashchange", () => goTo(location.hash.slice(1)));
  if (location.hash) goTo(location.hash.slice(1));
}

