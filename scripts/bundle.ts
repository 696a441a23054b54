import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { catalogue } from "../actions/catalogue.ts";
import { bundleActions, bundleWorker, projectRoot } from "./bundle/bundle.ts";

const { action, worker, output } = new Command("bundle")
  .description("Bundles every action and the worker into one file each, in dist/.")
  .option("--action <name...>", "only these actions, and no worker", process.env["ACTION"]?.split(","))
  .option("--no-worker", "actions only")
  .option("--output <directory>", "where to", join(projectRoot, "dist"))
  .parse()
  .opts<{ action?: string[]; worker: boolean; output: string }>();

const unknown = action?.filter((name) => !catalogue.includes(name)) ?? [];
if (unknown.length > 0) {
  process.stderr.write(`no such action: ${unknown.join(", ")}\nActions: ${catalogue.join(", ")}\n`);
  process.exit(2);
}
try {
  await bundleAll();
} catch (thrown) {
  process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = 1;
}

async function bundleAll(): Promise<void> {
  const names = action ?? catalogue;
  // What an earlier run left must not end up in an image.
  if (!action) await rm(join(output, "actions"), { recursive: true, force: true });
  await bundleActions(names, join(output, "actions"));
  if (worker && !action) await bundleWorker(output);
  process.stderr.write(
    `bundled ${names.length} actions${worker && !action ? " and the worker" : ""} into ${output}\n`,
  );
}
