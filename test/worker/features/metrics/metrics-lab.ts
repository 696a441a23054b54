import { catalogue } from "../../../../actions/catalogue.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import type { ActionStatus, Outcome } from "../../../../worker/core/action/action.ts";
import type { SeenAction } from "../../../../worker/core/action/observer.ts";
import { Health } from "../../../../worker/features/health/health.ts";
import { Metrics } from "../../../../worker/features/metrics/metrics.ts";
import type { WorkerFacts } from "../../../../worker/features/shared/facts.ts";
import { type WorkerObservers, workerObservers } from "../../../../worker/features/shared/observer.ts";
import { HttpListener } from "../../../../worker/listener/http/http-listener.ts";
import { SetClock } from "../../../support/set-clock.ts";
import { type Family, readPrometheusText } from "./exposition-reader.ts";

/** Metrics of a worker that does only what it is said to do, served on a real socket. */
export async function metricsLab(given: Partial<WorkerFacts> = {}) {
  const clock = new SetClock();
  const metrics = new Metrics({ clock, actionNames: catalogue });
  const health = new Health({ clock, longestWaitMs: 100_000 });
  const observer: WorkerObservers = workerObservers([metrics.observer, health.observer], (thrown) => {
    throw thrown;
  });
  const facts: WorkerFacts = {
    machines: () => ["m1", "m2"],
    agentIds: () => ["a"],
    slots: () => ({ limit: 16, taken: 3 }),
    unfinished: () => 2,
    connected: () => true,
    checkRuntime: async () => "well",
    health: (known) => health.findings(known),
    ...given,
  };
  const listener = new HttpListener({ routes: [metrics.route(facts)], log: silentLogger });
  await listener.listen({ host: "127.0.0.1", port: 0 });
  const url = `${listener.url}/metrics`;
  return {
    clock,
    observer,
    url,
    async read(): Promise<ReadonlyMap<string, Family>> {
      return readPrometheusText(await (await fetch(url)).text());
    },
    /** One sample of what is exported now; undefined when there is none. */
    async value(
      name: string,
      labels: Readonly<Record<string, string>> = {},
      family = name,
    ): Promise<number | undefined> {
      const samples = (await this.read()).get(family)?.samples ?? [];
      return samples.find(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([label, text]) => sample.labels[label] === text) &&
          Object.keys(sample.labels).length === Object.keys(labels).length,
      )?.value;
    },
    async [Symbol.asyncDispose]() {
      metrics.close();
      await listener.close();
    },
  };
}

/** The action of that number: another one for each. */
export function seen(index: number, image = "registry.example/pbnj-worker/power-off:v1"): SeenAction {
  return {
    key: `key-${index}`,
    workflowId: `default/w-${index}`,
    taskId: `t-${index}`,
    agentId: `a-${index}`,
    actionId: `action-${index}`,
    name: `an action ${index}`,
    image,
  };
}

export function success(clock: SetClock, seconds: number, given: Partial<Outcome> = {}): Outcome {
  const stoppedAt = new Date(clock.now());
  const startedAt = new Date(clock.now() - seconds * 1_000);
  const base = { ok: true, message: "off", startedAt, stoppedAt, timedOut: false, killed: false };
  return {
    ...base,
    exitCode: 0,
    result: {
      action: "power-off",
      ok: true,
      message: "off",
      provider: "redfish",
      durationMs: 1,
      roundTrips: 7,
    },
    ...given,
  };
}

/** A final report. */
export function reported(startedAt: Date): Pick<ActionStatus, "state" | "message" | "startedAt"> {
  return { state: "success", message: "off", startedAt };
}
