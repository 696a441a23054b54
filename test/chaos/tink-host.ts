import { Code, ConnectError } from "@connectrpc/connect";
import { z } from "zod";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { startTinkServer } from "../../simulators/tink/server.ts";
import { isOver, type Workflow } from "../../simulators/tink/workflow.ts";
import { serveOrders, setupOf } from "./host.ts";
import type { ActionRecord } from "./records.ts";

export const TinkSetup = z.object({ holdMs: z.number() });
export type TinkSetup = z.infer<typeof TinkSetup>;

export const TinkFacts = z.object({ address: z.string() });

const Method = z.enum(["GetAction", "ReportActionStatus"]);

export const TinkOrder = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("submit"), name: z.string(), template: z.string() }),
  z.object({ kind: z.literal("count") }),
  z.object({ kind: z.literal("records") }),
  z.object({ kind: z.literal("stop"), how: z.enum(["cut", "orderly"]) }),
  z.object({ kind: z.literal("start") }),
  /** Keeps the database as it is; the next restore may bring it back. */
  z.object({ kind: z.literal("back-up") }),
  /** Replaces the database by the backup, or by an empty one. */
  z.object({ kind: z.literal("restore"), database: z.enum(["older", "empty"]) }),
  z.object({ kind: z.literal("drop"), how: z.enum(["goaway", "destroy"]) }),
  z.object({ kind: z.literal("delay"), method: Method, delayMs: z.number(), times: z.int() }),
  z.object({
    kind: z.literal("refuse"),
    method: Method,
    code: z.enum(["Unavailable", "Internal", "ResourceExhausted"]),
    times: z.int(),
  }),
  z.object({ kind: z.literal("lose-acknowledgements"), times: z.int() }),
  z.object({ kind: z.literal("heal") }),
]);
export type TinkOrder = z.infer<typeof TinkOrder>;

/**
 * How it ended. A start that arrives late flips an ended workflow to RUNNING, and the server serves it no more: that is
 * the server's limit with replicas, of which one was served what another one ended.
 */
function stateOf(workflow: Workflow): string | undefined {
  if (isOver(workflow)) return workflow.state;
  const actions = workflow.tasks.flatMap((task) => task.actions);
  return actions.every(({ state }) => state === "SUCCESS") ? "SUCCESS" : undefined;
}

/** The program: a tink server with its controller, and a record of what it was told. */
if (import.meta.main) {
  const server = await startTinkServer(setupOf(TinkSetup));
  const records = new Map<string, ActionRecord>();

  server.board.on("change", ({ action }) => {
    const record = action && records.get(action.id);
    if (!action || !record) return;
    const at = Date.now();
    if (action.state === "RUNNING") record.startedAt.push(at);
    else record.ends.push({ at, state: action.state, message: action.message });
  });

  const restoreEmpty = server.board.snapshot();
  let restoreOlder = restoreEmpty;
  const restore = (database: "older" | "empty") => {
    if (database === "older") restoreOlder();
    else restoreEmpty();
    const at = Date.now();
    const known = new Map(
      server
        .workflows()
        .flatMap(({ tasks }) => tasks.flatMap(({ actions }) => actions.map((each) => [each.id, each]))),
    );
    for (const [id, record] of records) {
      const action = known.get(id);
      if (!action) record.forgottenAt ??= at;
      else if (record.ends.length > 0 && (action.state === "PENDING" || action.state === "RUNNING"))
        record.undone = true;
    }
  };

  const submit = (name: string, template: string) => {
    const workflow = server.submit({ name, template });
    for (const task of workflow.tasks) {
      for (const [index, { id, image, environment }] of task.actions.entries()) {
        records.set(id, {
          workflow: name,
          index,
          agentId: task.agentId,
          machine: environment["MACHINE"] ?? "",
          name: parseImageReference(image)?.name ?? image,
          environment: { ...environment },
          startedAt: [],
          ends: [],
        });
      }
    }
  };

  const carryOut = async (order: TinkOrder): Promise<unknown> => {
    switch (order.kind) {
      case "submit":
        return submit(order.name, order.template);
      case "count": {
        const all = server.workflows();
        return { submitted: all.length, over: all.filter((each) => stateOf(each) !== undefined).length };
      }
      case "records": {
        const workflows = server
          .workflows()
          .map((each) => ({ name: each.id.replace(/^.*\//, ""), state: stateOf(each) ?? each.state }));
        return { workflows, actions: [...records.values()] };
      }
      case "stop":
        return server.stop(order.how);
      case "start":
        return server.start();
      case "back-up":
        restoreOlder = server.board.snapshot();
        return;
      case "restore":
        return restore(order.database);
      case "drop":
        return server.dropConnections(order.how);
      case "delay":
        return server.faults.delay(order.method, order.delayMs, order.times);
      case "refuse": {
        const error = new ConnectError("refused by chaos", Code[order.code]);
        return server.faults.fail(order.method, error, order.times);
      }
      case "lose-acknowledgements":
        return server.faults.loseAcknowledgement(order.times);
      case "heal":
        server.faults.clear();
        return server.start();
      default:
        return order satisfies never;
    }
  };
  serveOrders({ address: server.address }, TinkOrder, carryOut);
}
