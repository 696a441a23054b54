import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WorkerProgram } from "../support/worker-program.ts";

/** Emulation is slow on a busy machine. */
export const SLOW_TEST_MS = 300_000;

interface Step {
  readonly action: string;
  readonly inputs?: Readonly<Record<string, string>>;
}

/** Runs a template with these actions by `pbnj-worker run`. `connection` is the machine's entry in the inventory. */
export async function runTemplate(
  folder: string,
  connection: Readonly<Record<string, unknown>>,
  steps: readonly Step[],
): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const credentials = { username: "admin", passwordEnv: "QEMU_PASSWORD" };
  const inventory = { machines: [{ name: "qemu", host: "127.0.0.1", credentials, ...connection }] };
  const actions = steps.map(({ action, inputs = {} }) => ({
    name: action,
    image: `registry.example/${action}:v1`,
    timeout: 120,
    environment: { MACHINE: "qemu", ...inputs },
  }));
  const template = {
    version: "0.1",
    name: "qemu",
    global_timeout: 600,
    tasks: [{ name: "bmc", worker: "pbnj-qemu", actions }],
  };
  // JSON is YAML.
  await writeFile(join(folder, "inventory.yaml"), JSON.stringify(inventory));
  await writeFile(join(folder, "template.yaml"), JSON.stringify(template));
  await using program = new WorkerProgram(
    ["run", join(folder, "template.yaml"), "--inventory", join(folder, "inventory.yaml")],
    { QEMU_PASSWORD: "password" },
  );
  const { code } = await program.ended;
  return { code, stdout: program.stdout };
}
