import { ERASE_METHODS } from "../../shared/bmc/operations/erase.ts";
import { defined } from "../../shared/defined.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { boolean, choice, duration, list } from "../harness/input/input.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";

const DRIVES = "DRIVES";

interface Erased {
  readonly drives: readonly { readonly id: string; readonly serialNumber?: string }[];
}

export default defineAction({
  name: "erase-drives",
  summary: "Erase the named drives of a machine that is off, and follow it to the end",
  // A second run destroys what was written after the first.
  idempotent: false,
  input: {
    drives: list({
      env: DRIVES,
      description: "IDs or serial numbers of the drives to erase, separated by commas; * is not allowed",
      required: true,
      pattern: /^[^*\p{Cc}\p{Cf}]{1,200}$/u,
      expected: "must hold only IDs or serial numbers of drives, without *",
    }),
    method: choice(ERASE_METHODS, {
      env: "ERASE_METHOD",
      description: "How to erase; without it, the BMC decides",
    }),
    whileOn: boolean({
      env: "WHILE_ON",
      description: "Erase also while the machine is on, which destroys what runs from the drives",
      default: "false",
    }),
    yes: boolean({
      env: "YES",
      description: "Erase without a question; the worker, which has the policy, needs no confirmation",
      default: "false",
    }),
    eraseTimeout: duration({
      env: "ERASE_TIMEOUT",
      description: "Time limit for all drives together; TIMEOUT also applies",
      default: "4h",
      minMs: 1_000,
    }),
  },
  question: ({ drives, yes }) => (yes ? undefined : `Destroy all data on ${drives.join(", ")}?`),
  check: ({ drives }, nameInput) => (drives.length === 0 ? [`${nameInput(DRIVES)} names no drive`] : []),
  run: async ({ bmc, input, dryRun, signal, progress }): Promise<ActionReport<DryRunData | Erased>> => {
    const { drives, method, whileOn, eraseTimeout } = input;
    const request = { drives, whileOn, ...defined({ method }) };
    if (dryRun) {
      const plan = await bmc.planDriveErasure(request, signal);
      return reportPlan(plan, plan.before);
    }
    const onSent = () => progress({ summary: "erasure of drives sent", changed: true });
    const { erased, ...report } = await bmc.eraseDrives(request, eraseTimeout, signal, onSent);
    const named = erased.map(({ id, serialNumber }) => ({ id, ...defined({ serialNumber }) }));
    return { ...report, data: { drives: named } };
  },
});
