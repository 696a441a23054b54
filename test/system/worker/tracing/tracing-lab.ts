import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { startCollector } from "../../../../simulators/otlp/collector.ts";
import type { CollectedSpan } from "../../../../simulators/otlp/read-json.ts";
import { startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import { startTinkServer } from "../../../../simulators/tink/server.ts";
import { isOver, type Workflow } from "../../../../simulators/tink/workflow.ts";
import { CommandInProcess } from "../../../support/command-in-process.ts";
import type { StartedProgram } from "../../../support/program-log.ts";
import { WorkerProgram } from "../../../support/worker-program.ts";

export interface Step {
  readonly name: string;
  readonly machine?: string;
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface TracingLabOptions {
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly registry?: string;
  readonly user?: string;
  readonly password?: string;
  /** What the inventory says in place of the right one. */
  readonly givenPassword?: string;
  readonly redfishAuth?: "basic" | "session";
}

/** A tink server, a machine behind Redfish and one behind IPMI, a collector, and workers that trace to it. */
export async function tracingLab(options: TracingLabOptions = {}) {
  const { user = "admin", password = "calvin", redfishAuth = "basic" } = options;
  const server = await startTinkServer({ holdMs: 1_000 });
  const collector = await startCollector();
  const quick = { powerOnMs: 10, powerOffMs: 10, softOffMs: 10 };
  const machines = ["node-01", "node-02"].map((name) => new SimulatedMachine({ name, ...quick }));
  const [first = new SimulatedMachine(), second = new SimulatedMachine()] = machines;
  const redfish = await startRedfishBmc({ machines: [first], tls: "http", username: user, password });
  const users = [{ name: user, password, privilege: "administrator" as const }];
  const ipmi = await startIpmiBmc({ machine: second, users });
  const folder = await mkdtemp(join(tmpdir(), "pbnj-tracing-"));
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, `${options.givenPassword ?? password}\n`);
  const inventoryFile = join(folder, "inventory.yaml");
  const inventory = {
    defaults: { credentials: { username: user, passwordFile } },
    machines: [
      {
        ...{ name: "node-01", host: "127.0.0.1", providers: ["redfish"] },
        redfish: { port: redfish.port, scheme: "http", auth: redfishAuth },
      },
      {
        name: "node-02",
        host: "127.0.0.1",
        providers: ["ipmi"],
        ipmi: { port: ipmi.port, privilege: "administrator" },
      },
    ],
  };
  await writeFile(inventoryFile, JSON.stringify(inventory));
  const workers: StartedProgram[] = [];
  const started = <T extends StartedProgram>(worker: T) => {
    workers.push(worker);
    return worker;
  };
  const lab = {
    server,
    collector,
    redfish,
    ipmi,
    folder,

    /** The variables by which anything traces to the collector, without waiting long for more to send. */
    variables: (): Readonly<Record<string, string>> => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      ...options.env,
    }),

    argv: (): readonly string[] => [
      ...["start", "--grpc-server", server.address, "--inventory", inventoryFile],
      ...["--agent-id", "pbnj,other", "--state-directory", join(folder, "state"), "--stop-grace", "2s"],
      ...["--backoff-max-interval", "300ms", "--log-level", "debug", ...(options.argv ?? [])],
    ],

    /** A worker inside this process. */
    start() {
      const variables = lab.variables();
      // OpenTelemetry's SDK reads those of the process by itself.
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      return started(new CommandInProcess(lab.argv(), variables));
    },

    /** A worker that can be killed. */
    startProcess: () => started(new WorkerProgram(lab.argv(), lab.variables())),

    submit(steps: readonly Step[], worker = "pbnj"): Workflow {
      const registry = options.registry ?? "registry.example/pbnj-worker";
      const actions = steps.map(({ name, machine = "node-01", image, environment = {} }) => ({
        name,
        image: image ?? `${registry}/${name}:test`,
        timeout: 60,
        environment: { MACHINE: machine, LOG_LEVEL: "debug", ...environment },
      }));
      const tasks = [{ name: "bmc", worker, actions }];
      return server.submit({
        template: JSON.stringify({ version: "0.1", name: "t", global_timeout: 600, tasks }),
      });
    },

    async untilOver(...workflows: readonly Workflow[]): Promise<void> {
      await server
        .until(() => workflows.every(isOver), 60_000)
        .catch((thrown: unknown) => {
          throw new Error(`${String(thrown)}\n${lab.said()}`);
        });
    },

    /** The first spans of traces: one for each action that was reported. */
    roots: (): readonly CollectedSpan[] => collector.spans.filter(({ parentSpanId }) => parentSpanId === ""),

    async untilTraced(actions: number): Promise<void> {
      await collector.until(() => lab.roots().length >= actions, lab.said);
    },

    said: (): string => workers.map(({ stderr }) => stderr).join("\n--- the next worker\n"),

    async [Symbol.asyncDispose]() {
      for (const worker of workers) await worker[Symbol.asyncDispose]();
      vi.unstubAllEnvs();
      await Promise.all([server.close(), redfish.close(), ipmi.close()]);
      await collector[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return lab;
}
