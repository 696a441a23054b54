import type { ActionResult } from "../../shared/contract/result.ts";
import { type CellFault, type Deed, openMatrixLab } from "./lab.ts";
import type { MachineState } from "./machine-state.ts";
import type { MatrixSubject } from "./variants.ts";
import { beginRun, type Pace, passTimeUntil, StuckError, virtualMs } from "./virtual-time.ts";
import type { Way } from "./ways.ts";

/** `TIMEOUT` of each action: enough for all that its machine does, and for every way to fail. */
export const TIMEOUT_MS = 3 * 60_000;

/** What a run said, and what its machine carried out. */
export interface Outcome {
  readonly result: ActionResult | undefined;
  readonly code: number | null;
  readonly before: MachineState;
  readonly after: MachineState;
  readonly deeds: readonly Deed[];
  readonly durationMs: number;
  /** Faults that each answer of the faulty provider can have, in order. */
  readonly faults: readonly (readonly string[])[];
  readonly hit: string | undefined;
  readonly leaks: readonly string[];
  /** The action's log, and why it never ended. */
  readonly log: string;
  readonly stuck: string | undefined;
}

interface RunOptions {
  readonly level?: "debug" | "error";
  readonly pace?: Pace;
}

/** Runs an action once on the thread's virtual clock. Without a fault it shows what the action does. */
export async function runCell(
  subject: MatrixSubject,
  way: Way,
  fault?: CellFault,
  { level = "error", pace = "fast" }: RunOptions = {},
): Promise<Outcome> {
  beginRun(pace);
  const lab = await passTimeUntil(openMatrixLab(subject, way, fault));
  try {
    const before = structuredClone(await lab.state());
    const startedMs = virtualMs();
    const run = lab.start({ LOG_LEVEL: level, TIMEOUT: `${TIMEOUT_MS}ms` });
    let stuck: string | undefined;
    const ended = await passTimeUntil(run.ended).catch((thrown: unknown) => {
      if (!(thrown instanceof StuckError)) throw thrown;
      stuck = thrown.message;
      run.kill("SIGTERM");
      return undefined;
    });
    const { result, code = null, stdout = "", stderr = "" } = ended ?? {};
    return {
      result,
      code,
      before,
      after: structuredClone(await lab.state()),
      deeds: lab.deeds(),
      durationMs: virtualMs() - startedMs,
      faults: lab.faults(),
      hit: lab.hit(),
      leaks: lab.leaks(`${stdout}\n${stderr}`),
      log: `${stderr}${stdout}`,
      stuck,
    };
  } finally {
    await passTimeUntil(Promise.resolve(lab[Symbol.asyncDispose]()));
  }
}
