import { BootDevice } from "../../shared/contract/vocabulary.ts";
import { defineAction } from "../harness/action.ts";
import { boolean, choice } from "../harness/input/input.ts";
import { bootModeInput, bootModeOf, checkBootMode } from "../harness/input/machine-input.ts";
import { runBoot } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-boot-device",
  summary: "Set a machine's boot device, once or until changed, and verify that the BMC kept it",
  idempotent: true,
  input: {
    device: choice(BootDevice.options, {
      env: "DEVICE",
      description: "What to boot from; none clears the override",
      required: true,
    }),
    persistent: boolean({
      env: "PERSISTENT",
      description: "Keep the override for every boot, instead of only the next one",
      default: "false",
    }),
    ...bootModeInput,
  },
  check: checkBootMode,
  run: (context) => {
    const { device, persistent } = context.input;
    return runBoot(context, { device, persistent, mode: bootModeOf(context.input) });
  },
});
