import { defineAction } from "../harness/action.ts";
import { bootModeInput, bootModeOf, checkBootMode } from "../harness/input/machine-input.ts";
import { runBoot } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-disk-persistent",
  summary: "Make a machine boot from its disk from now on, and verify that the BMC kept it",
  idempotent: true,
  input: bootModeInput,
  check: checkBootMode,
  run: (context) => runBoot(context, { device: "disk", persistent: true, mode: bootModeOf(context.input) }),
});
