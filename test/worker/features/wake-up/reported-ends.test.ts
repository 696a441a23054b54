import { expect, it } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { seenAction } from "../../../../worker/core/action/observer.ts";
import { ReportedEnds } from "../../../../worker/features/wake-up/reported-ends.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { scriptedRequest } from "../../runtimes/launch-request.ts";

const AT = new Date(0);

it.each([
  ["is said if the server kept TIMEOUT", { shown: "TIMEOUT", workflow: "TIMEOUT" }, ["TIMEOUT"]],
  ["is said if the server kept RUNNING", { shown: "RUNNING", workflow: "TIMEOUT" }, ["RUNNING"]],
  ["is not said if the server took it", { shown: "SUCCESS", workflow: "POST" }, []],
  ["is not said if the Workflow is gone", { shown: "RUNNING", workflow: "", isShown: false }, []],
  ["is not said of another Workflow with its name", { shown: "RUNNING", workflow: "", id: "other" }, []],
  ["is not said if nothing was acknowledged", { shown: "RUNNING", workflow: "", delivery: "dropped" }, []],
] as const)("an acknowledged report %s", async (_, about, expected) => {
  const { shown, workflow, isShown = true, id, delivery = "acknowledged" } = { ...NOTHING, ...about };
  const clock = new VirtualClock();
  const warned: unknown[] = [];
  const log = { ...silentLogger, warn: (fields: object) => void warned.push(fields) };
  const ends = new ReportedEnds({ isShown: () => isShown, stop: () => undefined, clock, log });
  const action = seenAction(scriptedRequest([]).request.action);
  const [namespace, name] = action.workflowId.split("/");
  const see = (state: string, workflowState: string, actionId = action.actionId) =>
    ends.see({
      metadata: { namespace, name },
      status: { state: workflowState, tasks: [{ actions: [{ id: actionId, state }] }] },
    });

  const started = {
    action,
    kind: "started",
    runtime: "process",
    startedAt: AT,
    timeoutMs: 0,
    adopted: false,
  };
  ends.observer.action?.({ ...started, kind: "started" });
  see("RUNNING", "RUNNING");
  const status = { state: "success", message: "", startedAt: AT } as const;
  ends.observer.action?.({ action, kind: "reported", delivery, status, at: AT });
  see(shown, workflow, id);
  await clock.until(() => delivery !== "acknowledged" || clock.monotonicMs() >= 10_000, 60_000);
  await new Promise((resolve) => setImmediate(resolve));

  const reasons = ends.problems().map(({ reason }) => reason);
  expect(reasons).toEqual(
    expected.map((kept) => `reported success, but the server shows ${kept} (Workflow ${workflow})`),
  );
  expect(warned).toEqual(
    expected.map((kept) =>
      expect.objectContaining({ state: "success", shown: kept, workflowState: workflow }),
    ),
  );
});

const NOTHING = { isShown: undefined, id: undefined, delivery: undefined };
