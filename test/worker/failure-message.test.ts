import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MemoryJournal } from "../../worker/core/action/action-journal.ts";
import { actionFolder } from "../../worker/runtimes/process/action-program.ts";
import { ProcessRuntime } from "../../worker/runtimes/process/process-runtime.ts";
import { executorLab } from "./core/run/executor-lab.ts";
import { canary, resultStep, scriptedRequest } from "./runtimes/launch-request.ts";

const programs = actionFolder(join(import.meta.dirname, "../support/fixtures/actions"));
const failure = { ok: false, class: "bmc", message: "the BMC refused it" };

/** What is reported of an action that does these steps in a process of its own. */
async function messageOf(steps: readonly string[]): Promise<string> {
  const runtime = new ProcessRuntime({ programs });
  const { executor, reports, signals } = executorLab(runtime, new MemoryJournal());
  await executor.execute(scriptedRequest(steps).request.action, signals);
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
