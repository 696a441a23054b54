/**
 * Generates the code of every API from its protobuf definitions.
 * `node scripts/generate.ts [folder]` writes to `folder/<API's folder>/gen`, by default where the code is committed.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";

const root = join(import.meta.dirname, "..");
const { positionals } = parseArgs({ allowPositionals: true });
const [output = root] = positionals;

const APIS = [
  "worker/sources/tink",
  "worker/features/legacy",
  "worker/features/pbnj/api",
  "worker/features/pbnj/listener",
] as const;

for (const api of APIS) {
  // Finds the plugin in this project's own packages.
  await execa("buf", ["generate", "--output", join(output, api)], {
    cwd: join(root, api),
    preferLocal: true,
    localDir: root,
    stdio: "inherit",
  });
}
