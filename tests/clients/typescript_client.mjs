// What a client by the TypeScript SDK gets of a server: one JSON object on standard output.
// Its argument says where the server is: {"command", "args", "cwd"} or {"url", "token"}; and {"many"}, how
// many files the call has that tells its progress.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.MDPLAN_NODE_PACKAGES}/`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const target = JSON.parse(process.argv[2]);
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url), {
      requestInit: { headers: { Authorization: `Bearer ${target.token}` } },
    })
  : new StdioClientTransport({ ...target, env: process.env, stderr: "inherit" });
const client = new Client({ name: "typescript", version: "1" });
await client.connect(transport);

const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const edit = { op: "replace_match", pattern: "old", replacement: "new" };
const stat = await call("md_stat", { file: "guide.md" });
const pinned = { file: "guide.md", baseSha256: stat.structuredContent.baseSha256, edits: [edit] };
const preview = await call("md_validate", pinned);
const applied = await call("md_apply", { planId: preview.structuredContent.planId });
const stale = await call("md_apply", pinned);
const progress = [];
const files = Array.from({ length: target.many }, (_, number) => ({ file: `${number}.md`, edits: [edit] }));
const long = await call("md_validate", { files }, {
  onprogress: ({ progress: done, total }) => progress.push([done, total ?? null]),
});

console.log(
  JSON.stringify({
    server: client.getServerVersion(),
    tools: (await client.listTools()).tools.map((tool) => tool.name),
    resources: (await client.listResources()).resources.map((resource) => resource.uri),
    guide: (await client.readResource({ uri: "mdplan://guide" })).contents[0].text,
    prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
    prompt: (await client.getPrompt({ name: "way-of-working" })).messages[0].content.text,
    stat: stat.structuredContent,
    preview: preview.structuredContent,
    applied: applied.structuredContent,
    stale: { isError: stale.isError, text: stale.content[0].text },
    long: long.structuredContent.ok,
    progress,
  }),
);
await client.close();
