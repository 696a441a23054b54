import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { exitCodeOf, type StopSignal } from "../../../shared/contract/exit-code.ts";
import type { InventoryFlag } from "../../inventory-flags.ts";
import type { Action } from "../action.ts";
import { openStdin } from "../input/hidden-input.ts";
import type { InputFields } from "../input/input.ts";
import { createActionLogger } from "../result/logger.ts";
import { runProgram } from "./program.ts";

/** Runs the program of one action in this process and ends the process. */
export async function main<Fields extends InputFields>(
  action: Action<Fields>,
  argv: readonly string[] = process.argv.slice(2),
  inventoryFlags: readonly InventoryFlag[] = [],
): Promise<never> {
  const exitCode = await runProgram(action, {
    argv,
    inventoryFlags,
    env: process.env,
    startedMs: Date.now() - performance.now(),
    stdin: () => openStdin(process.stdin, process.stderr),
    stdout: process.stdout,
    stderr: process.stderr,
    ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
    ...listenForStop(),
    openLog: createActionLogger,
    onUncaught: (end) => {
      process.on("uncaughtException", (thrown) => {
        end(thrown).then(
          (code) => process.exit(code),
          () => process.exit(exitCodeOf("internal")),
        );
      });
    },
  });
  process.exit(exitCode);
}

async function ask(question: string, signal: AbortSignal): Promise<boolean> {
  const { confirm } = await import("../../../shared/confirm.ts");
  return confirm(question, signal);
}

/** Listens for SIGTERM and SIGINT. The first cancels the action, which then cleans up; the second ends the process at once. */
function listenForStop() {
  const controller = new AbortController();
  let received: StopSignal | undefined;
  const onSignal = (name: StopSignal) => {
    if (received) process.exit(exitCodeOf("cancelled", name));
    received = name;
    controller.abort(new BmcError("cancelled", `cancelled by ${name}`));
  };
  process.on("SIGTERM", () => onSignal("SIGTERM"));
  process.on("SIGINT", () => onSignal("SIGINT"));
  return { signal: controller.signal, stoppedBy: () => received };
}
