import { fileURLToPath } from "node:url";
import { execa } from "execa";

/** What the images of the actions are called here; only containers need them to be there. */
export const REGISTRY = "localhost/pbnj-worker-chaos";
export const TAG = "chaos";

const SCRIPT = fileURLToPath(new URL("../../scripts/images.ts", import.meta.url));
const ACTIONS = ["power-on", "power-off", "power-cycle", "set-pxe-once"];

/** Builds the images that the workflows name, from the sources as they are. They stay, so that the next time is shorter. */
export async function buildImages(cancelSignal: AbortSignal): Promise<void> {
  const argv = ["--action", ...ACTIONS, "--registry", REGISTRY, "--version", TAG];
  await execa(process.execPath, [SCRIPT, ...argv], { stdout: "ignore", cancelSignal });
}
