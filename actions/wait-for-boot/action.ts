import { BOOT_STAGES } from "../../shared/bmc/operations/boot-port.ts";
import { defineAction } from "../harness/action.ts";
import { choice, duration } from "../harness/input/input.ts";

export default defineAction({
  name: "wait-for-boot",
  summary: "Wait until a machine has reached a stage of its boot, as the BMC reports it",
  idempotent: true,
  input: {
    stage: choice(BOOT_STAGES, {
      env: "STAGE",
      description: "What to wait for: initialized hardware, the boot loader or the operating system",
      default: "boot-started",
    }),
    stageTimeout: duration({
      env: "STAGE_TIMEOUT",
      description: "How long to wait; TIMEOUT also applies",
      default: "10m",
    }),
  },
  run: async ({ bmc, input, signal }) => {
    const { before, after, shownBy, summary } = await bmc.waitForBoot(
      input.stage,
      input.stageTimeout,
      signal,
    );
    return { before, after, changed: false, data: { shownBy }, summary };
  },
});
