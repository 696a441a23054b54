import { defineAction } from "../harness/action.ts";
import { duration } from "../harness/input/input.ts";
import { powerInput } from "../harness/input/machine-input.ts";
import { runPower } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "power-cycle",
  summary: "Force a machine off and power it on again; a machine that is off is powered on",
  idempotent: false,
  input: {
    offDuration: duration({
      env: "OFF_DURATION",
      description: "How long the machine stays off; 0 uses the BMC's own power cycle, if it has one",
      default: "0",
    }),
    ...powerInput,
  },
  run: (context) => {
    const { offDuration, stateTimeout: timeoutMs } = context.input;
    return runPower(context, { verb: "cycle", offDurationMs: offDuration, timeoutMs });
  },
});
