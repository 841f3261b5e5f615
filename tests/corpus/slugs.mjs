// Reads a JSON list of titles from the file named as first argument; prints the slug of each as the package that
// is named as second argument makes it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const packages = createRequire(`${process.env.MDPLAN_NODE_PACKAGES}/`);
const { slug, slugify } = await import(pathToFileURL(packages.resolve(process.argv[3])));
const titles = JSON.parse(readFileSync(process.argv[2], "utf-8"));
console.log(JSON.stringify(titles.map((title) => (slug ?? slugify)(title))));
