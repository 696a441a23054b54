import { defineAction } from "../harness/action.ts";
import { bootModeInput, bootModeOf, checkBootMode } from "../harness/input/machine-input.ts";
import { runBoot } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-pxe-once",
  summary: "Make a machine boot from the network once, and verify that the BMC kept it",
  idempotent: true,
  input: bootModeInput,
  check: checkBootMode,
  run: (context) => runBoot(context, { device: "pxe", persistent: false, mode: bootModeOf(context.input) }),
});
