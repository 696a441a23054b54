/**
 * Generates the code of every API from its protobuf definitions.
 * `node scripts/generate.ts [folder]` writes to `folder/<api>/gen`, by default where the code is committed.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";

const root = join(import.meta.dirname, "..");
const transports = join(root, "worker/source");
const { positionals } = parseArgs({ allowPositionals: true });
const [output = transports] = positionals;

for (const api of ["tink", "tink-legacy", "pbnj/api", "pbnj/listener"]) {
  // Finds the plugin in this project's own packages.
  await execa("buf", ["generate", "--output", join(output, api)], {
    cwd: join(transports, api),
    preferLocal: true,
    localDir: root,
    stdio: "inherit",
  });
}
