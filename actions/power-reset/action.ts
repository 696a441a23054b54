import { defineAction } from "../harness/action.ts";
import { boolean } from "../harness/input/input.ts";
import { powerInput } from "../harness/input/machine-input.ts";
import { runPower } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "power-reset",
  summary: "Reset a machine immediately, without powering it down",
  idempotent: false,
  input: {
    onIfOff: boolean({
      env: "ON_IF_OFF",
      description: "Power the machine on if it is off, instead of failing",
      default: "false",
    }),
    ...powerInput,
  },
  run: (context) => {
    const { onIfOff, stateTimeout: timeoutMs } = context.input;
    return runPower(context, { verb: "reset", onIfOff, timeoutMs });
  },
});
