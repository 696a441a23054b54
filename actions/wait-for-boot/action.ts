import { BOOT_STAGES, postCodeOf } from "../../shared/bmc/operations/boot-port.ts";
import { defineAction } from "../harness/action.ts";
import { choice, duration, text } from "../harness/input/input.ts";

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
    postCode: text({
      env: "POST_CODE",
      description:
        "What to wait for instead of STAGE: a POST code of the firmware, such as 0xAD; OpenBMC only",
      pattern: /^(0x)?[0-9a-f]{1,32}$/i,
      expected: "must be a hexadecimal number",
    }),
    stageTimeout: duration({
      env: "STAGE_TIMEOUT",
      description: "How long to wait; TIMEOUT also applies",
      default: "10m",
    }),
  },
  run: async ({ bmc, input, signal }) => {
    const postCode = input.postCode === undefined ? undefined : postCodeOf(input.postCode);
    const { before, after, shownBy, summary } = await bmc.waitForBoot(
      postCode === undefined ? { stage: input.stage } : { postCode },
      input.stageTimeout,
      signal,
    );
    return { before, after, changed: false, data: { shownBy }, summary };
  },
});
