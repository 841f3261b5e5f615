// What the page can do beyond what works without a script. Each part is a file with one subject.

import { plan, reveal } from "./page.js";
import { startClasses } from "./classes.js";
import { startComments } from "./comments.js";
import { startEdits } from "./edits.js";
import { startFiles } from "./files.js";
import { startKeys } from "./keys.js";
import { startNews } from "./news.js";
import { startSearch } from "./search.js";

reveal();
if (plan) {
  startEdits();
  startClasses();
  startComments();
  startSearch();
  startFiles();
}
startKeys();
startNews();
// Who writes a text for a conflict has chosen it.
document.addEventListener("input", ({ target }) => {
  const own = target.closest?.("fieldset")?.querySelector("[value=own]");
  if (own && target.matches(".own-text")) own.checked = true;
});
document.querySelector("[data-focus]")?.focus();
