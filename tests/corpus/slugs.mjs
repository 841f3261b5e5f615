// Reads a JSON list of titles from the file named as argument; prints the slug of each as github-slugger has it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const packages = createRequire(`${process.env.MDPLAN_NODE_PACKAGES}/`);
const { slug } = await import(pathToFileURL(packages.resolve("github-slugger")));
const titles = JSON.parse(readFileSync(process.argv[2], "utf-8"));
console.log(JSON.stringify(titles.map((title) => slug(title))));
