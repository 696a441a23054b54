import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogue } from "../../actions/catalogue.ts";
import { type Clock, systemClock } from "../../shared/clock.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { startLegacyTinkServer } from "../../simulators/tink-legacy/server.ts";
import { loadConfig } from "../../worker/config/load-config.ts";
import { openStateDirectory } from "../../worker/core/journal/state-directory.ts";
import { openWorker } from "../../worker/main/open-worker.ts";
import { PROGRAM } from "../cli/program.ts";
import { quickLibrary } from "../support/quick-actions.ts";

export const CANARY = "canary-71c0d";

export interface LabOptions {
  /** By name. */
  readonly machines: Readonly<Record<string, SimulatedMachineOptions>>;
}

/** A server of the deprecated API, and machines behind Redfish BMCs with their inventory. */
export async function legacyLab({ machines }: LabOptions) {
  const server = await startLegacyTinkServer();
  const folder = await mkdtemp(join(tmpdir(), "pbnj-legacy-"));
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, `${CANARY}\n`);
  const bmcs = await Promise.all(
    Object.entries(machines).map(async ([name, options]) => {
      const machine = new SimulatedMachine({ name, powerOnMs: 20, powerOffMs: 20, ...options });
      return {
        name,
        machine,
        bmc: await startRedfishBmc({ machines: [machine], tls: "http", password: CANARY }),
      };
    }),
  );
  const inventory = {
    defaults: { credentials: { username: "admin", passwordFile }, providers: ["redfish"] },
    machines: bmcs.map(({ name, bmc }) => ({
      name,
      host: "127.0.0.1",
      redfish: { port: bmc.port, scheme: "http" },
    })),
  };
  const inventoryFile = join(folder, "inventory.yaml");
  await writeFile(inventoryFile, JSON.stringify(inventory));
  return {
    server,
    folder,
    passwordFile,
    machines: bmcs.map(({ machine }) => machine),
    bmcs: bmcs.map(({ bmc }) => bmc),
    /** For `pbnj-worker start`. */
    argv: [
      ...["start", "--grpc-server", server.address, "--inventory", inventoryFile, "--agent-id", "pbnj"],
      ...["--state-directory", join(folder, "state"), "--backoff-max-interval", "300ms"],
    ],
    flags: { grpcServer: server.address, inventory: inventoryFile, agentId: ["pbnj"] },
    async [Symbol.asyncDispose]() {
      await server.close();
      for (const { bmc } of bmcs) await bmc.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type LegacyLab = Awaited<ReturnType<typeof legacyLab>>;

export interface Step {
  readonly name: string;
  readonly image?: string;
  readonly worker?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly onTimeout?: readonly string[];
  readonly onFailure?: readonly string[];
  readonly timeout?: number;
}

/** A template with one task for each run of steps of the same worker. */
export function templateOf(steps: readonly Step[]): string {
  const tasks: { name: string; worker: string; actions: object[] }[] = [];
  for (const { worker = "pbnj", name, image, timeout = 60, onTimeout, onFailure, ...rest } of steps) {
    if (tasks.at(-1)?.worker !== worker)
      tasks.push({ name: `task-${tasks.length + 1}`, worker, actions: [] });
    tasks.at(-1)?.actions.push({
      ...rest,
      name,
      image: image ?? `registry.example/pbnj-worker/${name}:v1`,
      timeout,
      ...(onTimeout && { "on-timeout": onTimeout }),
      ...(onFailure && { "on-failure": onFailure }),
    });
  }
  return JSON.stringify({ version: "0.1", name: "t", global_timeout: 600, tasks });
}

interface Logged extends Readonly<Record<string, unknown>> {
  readonly msg: string;
}

/** A worker inside this process: what it logs is kept, and its clock may be another one. */
export async function standingWorker(
  lab: Pick<LegacyLab, "folder" | "flags">,
  { clock = systemClock, flags = {} }: { clock?: Clock; flags?: Readonly<Record<string, unknown>> } = {},
) {
  const stateDirectory = join(lab.folder, "state");
  const loaded = loadConfig({
    flags: { runtime: "in-process", backoffMaxInterval: "300ms", stateDirectory, ...lab.flags, ...flags },
    env: {},
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const logged: Logged[] = [];
  const keep = (fields: LogFields, msg: string) => logged.push({ ...fields, msg });
  const log: Logger = { debug: keep, info: keep, warn: keep, error: keep };
  const state = await openStateDirectory(stateDirectory);
  const own = { file: PROGRAM, actions: catalogue, library: quickLibrary };
  const { worker, journal, flush } = await openWorker(loaded.config, { log, own, env: {}, state, clock });
  const ended = worker.run();
  return {
    logged,
    journal,
    async [Symbol.asyncDispose]() {
      worker.cancel();
      await ended;
      await flush({ stateLost: false });
      await state.close();
    },
  };
}
