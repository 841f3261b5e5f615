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
document.querySelector("[data-focus]")?.focus();
