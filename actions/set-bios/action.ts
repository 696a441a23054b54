import * as z from "zod/mini";
import { describeBios } from "../../shared/bmc/operations/bios.ts";
import type { BiosAttributes } from "../../shared/bmc/operations/bios-registry.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { boolean, choice, duration, type InputField } from "../harness/input/input.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";
import { parseBiosAttributes } from "./parse-attributes.ts";

const EXPECTED = "is not a list of Name=Value with commas or line breaks between, nor a JSON object";

const biosAttributes = z.pipe(
  z.string(),
  z.transform((text: string, context): BiosAttributes => {
    const attributes = parseBiosAttributes(text);
    if (!attributes) context.issues.push({ code: "custom", message: EXPECTED, input: text });
    return attributes ?? {};
  }),
);

export default defineAction({
  name: "set-bios",
  summary: "Set BIOS attributes of a machine for its next boot, and verify them",
  idempotent: true,
  input: {
    attributes: {
      env: "BIOS_ATTRIBUTES",
      type: "text",
      description: "Name=Value, separated by commas or one per line; as a JSON object if a value has commas",
      required: true,
      schema: biosAttributes,
    } satisfies InputField<BiosAttributes>,
    applyTime: choice(["on-reset", "immediate"], {
      env: "APPLY_TIME",
      description: "When the values take effect: at the next boot, or at once where the BMC offers it",
      default: "on-reset",
    }),
    wait: boolean({
      env: "WAIT",
      description: "Whether to wait until the values are in effect; the action does not boot the machine",
      default: "false",
    }),
    waitTimeout: duration({
      env: "WAIT_TIMEOUT",
      description: "How long to wait with WAIT; TIMEOUT also applies",
      default: "20m",
    }),
  },
  run: async ({
    bmc,
    input,
    dryRun,
    signal,
  }): Promise<ActionReport<DryRunData | { readonly validated: boolean }>> => {
    const { attributes: values, applyTime, wait, waitTimeout } = input;
    const request = { values, applyTime, ...(wait ? { waitMs: waitTimeout } : {}) };
    if (dryRun) {
      const plan = await bmc.planBios(request, signal);
      return reportPlan(plan, describeBios(plan.before));
    }
    const { validated, ...report } = await bmc.setBios(request, signal);
    return { ...report, data: { validated } };
  },
});
