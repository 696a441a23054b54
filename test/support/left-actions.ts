import { tmpdir } from "node:os";
import { join } from "node:path";
import { signalGroup } from "../../shared/child-process/process-group.ts";
import { LABEL_VARIABLE } from "../../worker/runtimes/process/process-spec.ts";
import { processesWith } from "../../worker/runtimes/process/process-table.ts";

/** A folder in PATH that does not exist. Actions inherit it from the workers of this process. */
const MARK = join(tmpdir(), `pbnj-worker-test-${process.pid}`);
let isUsed = false;

/** The PATH of a worker whose actions `endLeftActions` finds. */
export function markedPath(path = ""): string {
  isUsed = true;
  return `${path}:${MARK}`;
}

/** Ends actions that outlived the workers of this process: a killed worker leaves its own to the next one. */
export async function endLeftActions(): Promise<void> {
  if (!isUsed) return;
  isUsed = false;
  for (const { groupId, environment } of await processesWith(LABEL_VARIABLE.key)) {
    if (environment["PATH"]?.endsWith(`:${MARK}`)) signalGroup(groupId, "SIGKILL");
  }
}
