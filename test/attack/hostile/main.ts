/** The same way in as the real actions have: `node main.ts <name> [arguments]`. */
const [name = ""] = process.argv.splice(2, 1);
await import(`./${name}/action.ts`);
