import { formatSeconds } from "../../shared/duration.ts";
import { LiveBlock } from "../../shared/live-block.ts";
import type { Workflow, WorkflowAction } from "../../simulators/tink/workflow.ts";

/** Shows the progress of workflows: one line per machine, redrawn on a terminal, or one line per change elsewhere. */
export interface Progress {
  changed(machine: string, action: WorkflowAction): void;
  close(): void;
}

const REDRAW_MS = 100;

export function startProgress(workflows: ReadonlyMap<string, Workflow>, out: NodeJS.WriteStream): Progress {
  return out.isTTY ? liveProgress(workflows, out) : plainProgress(out);
}

function plainProgress(out: NodeJS.WriteStream): Progress {
  return {
    changed(machine, action) {
      out.write(`${machine}  ${describeAction(action)}\n`);
    },
    close: () => undefined,
  };
}

function liveProgress(workflows: ReadonlyMap<string, Workflow>, out: NodeJS.WriteStream): Progress {
  const block = new LiveBlock(out);
  const draw = () => {
    block.draw(
      [...workflows].map(([machine, workflow]) => `${machine}  ${describeAction(currentAction(workflow))}`),
    );
  };
  const timer = setInterval(draw, REDRAW_MS);
  draw();
  return {
    changed: draw,
    close() {
      clearInterval(timer);
      draw();
      block.leave();
    },
  };
}

/** Returns the action that is running or failed, or else the one that ended last. */
function currentAction(workflow: Workflow): WorkflowAction | undefined {
  const actions = workflow.tasks.flatMap((task) => task.actions);
  return (
    actions.find(({ state }) => state !== "SUCCESS" && state !== "PENDING") ??
    actions.findLast(({ state }) => state === "SUCCESS")
  );
}

/** Formats the state, time and message of an action as one line. */
export function describeAction(action: WorkflowAction | undefined): string {
  if (!action) return "waiting";
  const endMs = action.stoppedAt?.getTime() ?? Date.now();
  const elapsed = action.startedAt ? formatSeconds(Math.max(0, endMs - action.startedAt.getTime())) : "";
  const said = action.state === "RUNNING" ? "" : action.message;
  return `${action.name.padEnd(13)} ${action.state.toLowerCase().padEnd(8)} ${elapsed.padStart(7)}  ${said}`.trimEnd();
}
