import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../shared/clock.ts";
import { silentLogger } from "../../shared/logger.ts";
import type { ActionStatus } from "../../worker/action/action.ts";
import { noObserver } from "../../worker/action/observer.ts";
import { Executor } from "../../worker/execution/executor.ts";
import { Reporter } from "../../worker/execution/report.ts";
import { MemoryJournal } from "../../worker/journal/memory-journal.ts";
import { AuthGate } from "../../worker/machines/auth-gate.ts";
import { SecretCommands } from "../../worker/machines/secret-commands.ts";
import { actionFolder } from "../../worker/runtime/process/action-program.ts";
import { ProcessRuntime } from "../../worker/runtime/process/process-runtime.ts";
import { ActionSlots } from "../../worker/turns/action-slots.ts";
import { MachineLocks } from "../../worker/turns/machine-locks.ts";
import { canary, resultStep, scriptedRequest, testConnection } from "./runtime/launch-request.ts";

const programs = actionFolder(join(import.meta.dirname, "../support/fixtures/actions"));
const failure = { ok: false, class: "bmc", message: "the BMC refused it" };

/** What is reported of an action that does these steps in a process of its own. */
async function messageOf(steps: readonly string[]): Promise<string> {
  const reports: ActionStatus[] = [];
  const sink = {
    async report(status: ActionStatus) {
      reports.push(status);
      return { kind: "acknowledged" } as const;
    },
  };
  const common = { clock: systemClock, log: silentLogger, observer: noObserver };
  const runtime = new ProcessRuntime({ programs });
  const executor = new Executor({
    ...common,
    permit: () => ({ allowed: true }),
    locate: () => ({
      ok: true,
      machine: "m1",
      lockKey: "bmc.example",
      connect: async () => testConnection(),
    }),
    runtime,
    reporter: new Reporter({ ...common, sink, maxBackoffMs: 1_000 }),
    locks: new MachineLocks(),
    slots: new ActionSlots(1),
    authGate: new AuthGate(),
    secretCommands: new SecretCommands(),
    isOurs: () => true,
    redactorOf: () => Promise.reject(new Error("nothing is adopted")),
    journal: new MemoryJournal(),
    defaultTimeoutMs: 60_000,
    traceEnvironment: () => ({}),
  });
  const never = new AbortController().signal;
  await executor.execute(scriptedRequest(steps).request.action, { stop: never, cancel: never });
  await runtime.close();
  return reports.at(-1)?.message ?? "";
}

describe("the reported message of a failure", () => {
  it("has the action's own reason, and then the last lines of its log", async () => {
    const message = await messageOf([
      'err:{"level":40,"msg":"the session was lost"}\\n',
      "err:the BMC refused it\\n",
      resultStep(failure),
      "exit:19",
    ]);

    expect(message).toBe(
      "Scripted action failed (bmc, exit 19): the BMC refused it; its log: the session was lost",
    );
  });

  it("has no password, neither in the reason nor in the log", async () => {
    const message = await messageOf([
      `err:{"level":50,"msg":"login as admin:${canary} failed"}\\n`,
      resultStep({ ...failure, message: `refused ${canary}` }),
      "exit:10",
    ]);

    expect(message).toContain("refused [redacted]; its log: login as [redacted] failed");
    expect(message).not.toContain(canary);
  });

  it.each([940, 960, 970, 975, 980])(
    "has no part of a password where it is cut, after %d characters",
    async (before) => {
      const [ofLog, ofReason] = await Promise.all([
        messageOf([`err:${"x".repeat(before)} ${canary} ${canary}\\n`, "exit:1"]),
        messageOf([
          resultStep({ ...failure, message: `${"x".repeat(before)} ${canary} ${canary}` }),
          "exit:10",
        ]),
      ]);

      expect(ofLog.length).toBeLessThanOrEqual(1_000);
      expect(`${ofLog}${ofReason}`).not.toMatch(/cana/);
    },
  );
});
