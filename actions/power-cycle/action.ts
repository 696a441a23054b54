import { defineAction } from "../harness/action.ts";
import { duration } from "../harness/input.ts";
import { stateTimeout } from "../harness/power-input.ts";
import { runPower } from "../harness/run-power.ts";

export default defineAction({
  name: "power-cycle",
  summary: "Power a machine off hard and on again; one that is off is powered on",
  idempotent: false,
  input: {
    offDuration: duration({
      env: "OFF_DURATION",
      description: "How long the machine stays off; 0 leaves the cycle to the BMC where it offers one",
      default: "0",
    }),
    stateTimeout,
  },
  run: (context) => {
    const { offDuration, stateTimeout: timeoutMs } = context.input;
    return runPower(context, { verb: "cycle", offDurationMs: offDuration, timeoutMs });
  },
});
