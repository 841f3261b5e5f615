// News: plans that came, decisions that others made, and what other windows of the browser marked.

import { all, base, body, byId, parsed, plan, say, show, url, warn } from "./page.js";

const POLL_MILLISECONDS = 2000;
let known = body.dataset.news;

async function look() {
  const answer = await fetch(`${base}news`);
  if (!answer.ok) throw new Error(String(answer.status));
  const { news } = await answer.json();
  if (news === known) return;
  await (plan ? lookAtPlan() : lookAtList());
  known = news;
}

async function lookAtList() {
  const before = new Set(all("[data-plan].plan-card").map((card) => card.dataset.plan));
  const focused = document.activeElement?.closest(".plan-card")?.dataset.plan;
  const answer = await fetch(location.href);
  const list = parsed(await answer.text()).getElementById("plans");
  if (!list) return;
  byId("plans").replaceWith(list);
  if (focused) document.querySelector(`.plan-card[data-plan="${CSS.escape(focused)}"] h2 a`)?.focus();
  const n_new = all(".plan-card").filter((card) => !before.has(card.dataset.plan)).length;
  if (n_new) say(n_new === 1 ? "A new plan" : `${n_new} new plans`);
}

async function lookAtPlan() {
  const answer = await fetch(`${url}/state`);
  if (!answer.ok) return;
  const progress = await answer.json();
  show(progress);
  if (progress.state === body.dataset.state) return;
  warn(`This plan is now ${progress.state === "waiting" ? "pending" : progress.state}. `);
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

export function startNews() {
  if (known) setTimeout(keepLooking, POLL_MILLISECONDS);
  // Files may have changed since then, of which nobody sends news.
  if (plan) addEventListener("focus", () => lookAtPlan().catch(() => {}));
}
