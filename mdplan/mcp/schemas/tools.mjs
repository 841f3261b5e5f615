// Calls of mdplan's tools; `make schemas` writes this file.
const names = ["md_stat", "md_read", "md_search", "md_validate", "md_apply", "md_history"];
export const tools = (call) => Object.fromEntries(names.map((name) => [name, (args) => call(name, args)]));
