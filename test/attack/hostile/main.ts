/** The entry point, with the arguments of the real one: `node main.ts <name> [arguments]`. */
const [name = ""] = process.argv.splice(2, 1);
await import(`./${name}/action.ts`);
