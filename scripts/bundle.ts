import { rm } from "node:fs/promises";
import { join } from "node:path";
import { catalogue } from "../actions/catalogue.ts";
import { textOf } from "../shared/text-of.ts";
import { bundleActions, bundleProgram } from "./bundle/bundle.ts";
import { writeCodeCache, writeProgramCodeCache } from "./bundle/code-cache.ts";
import { headCommit } from "./git.ts";
import { projectRoot } from "./project-root.ts";
import { tool } from "./tool.ts";

const { action, actions, program, codeCache, output } = tool(
  "bundle",
  "Bundles the command line, and every action into a folder for its image, in dist/.",
)
  .option(
    "--action <name...>",
    "programs of only these actions, and no command line",
    process.env["ACTION"]?.split(","),
  )
  .option("--no-program", "actions only")
  .option("--no-actions", "the command line only")
  .option("--code-cache", "write what V8 compiles beside the bundle, for this Node and architecture", false)
  .option("--output <directory>", "where to", join(projectRoot, "dist"))
  .parse()
  .opts<{ action?: string[]; actions: boolean; program: boolean; codeCache: boolean; output: string }>();

const unknown = action?.filter((name) => !catalogue.includes(name)) ?? [];
if (unknown.length > 0) {
  process.stderr.write(`no such action: ${unknown.join(", ")}\nActions: ${catalogue.join(", ")}\n`);
  process.exit(2);
}
try {
  await bundleAll();
} catch (thrown) {
  process.stderr.write(`${textOf(thrown)}\n`);
  process.exitCode = 1;
}

/** An image is built without the repository: its builder passes the commit. */
async function commitOf(): Promise<string | undefined> {
  return process.env["REVISION"] || (await headCommit(projectRoot))?.id;
}

async function bundleAll(): Promise<void> {
  const names = actions ? (action ?? catalogue) : [];
  // Files of an earlier run must not get into an image.
  if (!action) await rm(join(output, "actions"), { recursive: true, force: true });
  if (actions) {
    const bundle = await bundleActions(names, join(output, "actions"));
    if (codeCache) await writeCodeCache(bundle);
  }
  const whole = program && !action;
  if (whole) {
    const bundle = await bundleProgram(output, { commit: await commitOf() });
    if (codeCache) await writeProgramCodeCache(output, bundle);
  }
  process.stderr.write(
    `bundled ${[...(actions ? [`${names.length} actions`] : []), ...(whole ? ["pbnj-worker"] : [])].join(" and ")} into ${output}\n`,
  );
}
