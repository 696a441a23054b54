import { vi } from "vitest";
import { startCollector } from "../../../../simulators/otlp/collector.ts";
import type { CollectedSpan } from "../../../../simulators/otlp/read-json.ts";
import type { Workflow } from "../../../../simulators/tink/workflow.ts";
import { CommandInProcess } from "../../../support/command-in-process.ts";
import { openLab, type Step } from "../../../support/lab.ts";
import type { StartedProgram } from "../../../support/program-log.ts";
import { WorkerProgram } from "../../../support/worker-program.ts";

/** By default on node-01. */
export type MachineStep = Step & { readonly machine?: string };

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

/** A machine behind Redfish and one behind IPMI, a collector, and workers that trace to it. */
export async function tracingLab(options: TracingLabOptions = {}) {
  const { user: username = "admin", password = "calvin", redfishAuth: auth = "basic" } = options;
  const base = await openLab({
    machines: { "node-01": {}, "node-02": { providers: ["ipmi"] } },
    ...{ username, password, redfish: { auth } },
    argv: ["--agent-id", "pbnj,other", "--log-level", "debug", ...(options.argv ?? [])],
  });
  base.defer(async () => void vi.unstubAllEnvs());
  if (options.givenPassword !== undefined) await base.write("password", `${options.givenPassword}\n`);
  const collector = base.own(await startCollector());
  const workers: StartedProgram[] = [];
  const started = <T extends StartedProgram>(worker: T) => {
    workers.push(base.own(worker));
    return worker;
  };
  const lab = {
    ...base,
    collector,
    redfish: base.bmc("node-01"),

    /** The variables by which anything traces to the collector, without waiting long for more to send. */
    variables: (): Readonly<Record<string, string>> => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      ...options.env,
    }),

    /** A worker inside this process. */
    start() {
      const variables = lab.variables();
      // OpenTelemetry's SDK reads those of the process by itself.
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
      return started(new CommandInProcess(base.argv(), variables));
    },

    /** A worker that can be killed. */
    startProcess: () => started(new WorkerProgram(base.argv(), lab.variables())),

    submit: (steps: readonly MachineStep[], agentId = "pbnj"): Workflow =>
      base.submit(
        agentId,
        ...steps.map(({ machine = "node-01", ...step }) => ({
          ...(options.registry && { image: `${options.registry}/${step.name}:test` }),
          ...step,
          environment: { MACHINE: machine, LOG_LEVEL: "debug", ...step.environment },
        })),
      ),

    untilOver: (...workflows: readonly Workflow[]) =>
      base.untilOver(...workflows).catch((thrown: unknown) => {
        throw new Error(`${String(thrown)}\n${lab.said()}`);
      }),

    /** The first spans of traces: one for each action that was reported. */
    roots: (): readonly CollectedSpan[] => collector.spans.filter(({ parentSpanId }) => parentSpanId === ""),

    async untilTraced(actions: number): Promise<void> {
      await collector.until(() => lab.roots().length >= actions, lab.said);
    },

    said: (): string => workers.map(({ stderr }) => stderr).join("\n--- the next worker\n"),
  };
  return lab;
}
