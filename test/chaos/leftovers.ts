import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { ContainerEngine } from "../../scripts/images/container-engine.ts";
import { LABEL } from "../../worker/runtimes/docker/container-spec.ts";
import type { Finding } from "./records.ts";

type EngineClient = Pick<ContainerEngine, "run">;

/** Processes other than `known` that bear a text in their environment, such as the ID of a state directory. */
export async function processesMarked(mark: string, known: ReadonlySet<number>): Promise<readonly number[]> {
  return (await processesWith("environ", mark)).filter((pid) => !known.has(pid));
}

/** Processes that have a text in their command line. */
export async function processesNaming(text: string): Promise<readonly number[]> {
  return (await processesWith("cmdline", text)).filter((pid) => pid !== process.pid);
}

async function processesWith(file: "environ" | "cmdline", text: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of await readdir("/proc").catch(() => [])) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const content = await readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
    if (content.includes(text)) found.push(pid);
  }
  return found;
}

export function endByForce(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

/** Every container that the workers of a state directory launched, whatever state it is in. */
export async function containersOf(engine: EngineClient, stateId: string): Promise<readonly string[]> {
  const list = ["ps", "--all", "--quiet", "--filter", `label=${LABEL.state}=${stateId}`];
  return (await engine.run(list)).split("\n").filter((id) => id !== "");
}

/** One that has ended meanwhile stays as it is. */
export async function killContainer(engine: EngineClient, id: string): Promise<void> {
  await engine.run(["kill", id]).catch(() => undefined);
}

export async function removeContainers(engine: EngineClient, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await engine.run(["rm", "--force", "--volumes", ...ids]);
}

/** What remains in a state directory although every action has ended. */
export async function filesLeft(worker: string, directory: string): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const left = (rule: string, text: string) => findings.push({ rule, text: `${worker}: ${text}` });
  for (const name of await list(join(directory, "results")))
    left("no result file is left", `results/${name}`);
  for (const name of await list(join(directory, "journal"))) {
    const path = join("journal", name);
    if (name.endsWith(".json")) {
      const entry = await readFile(join(directory, path), "utf8").catch(() => "");
      // One that was forgotten meanwhile is none that is left.
      if (entry !== "" && !/"phase":\s*"(acknowledged|dropped)"/.test(entry))
        left("no journal entry is left", `${path} ${entry}`);
    } else if (name === "set-aside") {
      for (const each of await list(join(directory, path)))
        left("no journal entry is damaged", join(path, each));
    } else left("no journal entry is left", path);
  }
  return findings;
}

/** What the file descriptors of a process are, without the numbers that make each one of its kind. */
export async function descriptorsOf(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await list(folder);
  const targets = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => "")));
  return targets.filter((target) => target !== "").map((target) => target.replace(/:\[\d+\]$/, ""));
}

async function list(directory: string): Promise<readonly string[]> {
  return (await readdir(directory).catch(() => [])).toSorted();
}
