/**
 * Generates the tink API's code from its protobuf definition.
 * `node scripts/generate.ts [folder]` writes to `folder/gen`, by default where the code is committed.
 */
import { join } from "node:path";
import { execa } from "execa";

const root = join(import.meta.dirname, "..");
const api = join(root, "worker/transport/tink");
const [output = api] = process.argv.slice(2);

// The plugin is found the way the program is: among this project's own packages.
await execa("buf", ["generate", "--output", output], {
  cwd: api,
  preferLocal: true,
  localDir: root,
  stdio: "inherit",
});
