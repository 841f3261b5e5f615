// Reads a JSON list of pairs [site, text] from the file named as first argument. Prints for each text its leaves, as
// pairs of the containers around them and their source: markdown-it-container, or remark with directives and MDX.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const packages = createRequire(`${process.env.MDPLAN_NODE_PACKAGES}/`);
const load = async (name) => await import(pathToFileURL(packages.resolve(name)));
const modules = ["unified", "remark-parse", "remark-gfm", "remark-frontmatter", "remark-directive", "remark-mdx"];
const [{ unified }, ...plugins] = await Promise.all(modules.map(load));
const remark = plugins.reduce((to, plugin) => to.use(plugin.default), unified());
const [markdownIt, container] = (await Promise.all(["markdown-it", "markdown-it-container"].map(load))).map(
  (module) => module.default,
);
const vue = markdownIt({ html: true }).use(container, "any", { validate: (info) => /^\s*[\w-]/.test(info) });
const tidy = (text) => text.replace(/^[ \t]*<\/[\w-]+>[ \t]*$/gm, "").replace(/[\s>]+/g, " ").trim();

function readAstro(text) {
  const leaves = [];
  const walk = (node, around) => {
    if (["paragraph", "heading", "tableCell", "code"].includes(node.type)) {
      const { start, end } = node.position;
      if (node.type !== "tableCell" || node.children.length) leaves.push([around, tidy(text.slice(start.offset, end.offset).replace(/^\|?(.*?)\|?$/s, "$1"))]);
      return;
    }
    const names = { containerDirective: `:${node.name}`, mdxJsxFlowElement: `<${node.name}`, list: "list" };
    const inside = names[node.type] ? `${around} ${names[node.type]}` : around;
    for (const child of node.children ?? []) walk(child, inside);
  };
  walk(remark.parse(text), "");
  return leaves;
}

function readVue(text) {
  const leaves = [];
  const around = [];
  for (const token of vue.parse(text.replace(/^---\n.*?\n---\n/s, ""), {})) {
    if (/^(container_any|bullet_list|ordered_list)_open$/.test(token.type)) {
      around.push(token.type.startsWith("container") ? `:${token.info.trim().split(/\s/)[0]}` : "list");
    } else if (/^(container_any|bullet_list|ordered_list)_close$/.test(token.type)) {
      around.pop();
    } else if (token.type === "html_block") {
      for (const [tag, close, name] of token.content.matchAll(/<(\/?)([\w-]+)[^<>]*>/g)) {
        if (close && around.at(-1) === `<${name}`) around.pop();
        else if (!close && !/\/>$|^<(img|br|hr|input|source)\b/.test(tag) && token.content.trim() === tag) around.push(`<${name}`);
      }
    } else if (["inline", "fence"].includes(token.type)) {
      leaves.push([around.map((name) => ` ${name}`).join(""), tidy(token.content)]);
    }
  }
  return leaves;
}

const readers = { "astro-docs": readAstro, "vuejs-docs": readVue };
const answers = JSON.parse(readFileSync(process.argv[2], "utf-8")).map(([site, text]) => {
  try {
    return readers[site](text);
  } catch (error) {
    return String(error.message);
  }
});
process.stdout.write(JSON.stringify(answers));
