import { defineAction } from "../harness/action.ts";
import { choice, duration } from "../harness/input.ts";
import { stateTimeout } from "../harness/power-input.ts";
import { runPower } from "../harness/run-power.ts";

export default defineAction({
  name: "power-off",
  summary: "Power a machine off, gracefully first unless told otherwise, and see that it is off",
  idempotent: true,
  input: {
    mode: choice(["hard", "soft", "soft-then-hard"], {
      env: "MODE",
      description: "Force it off, ask the operating system, or ask and force it when that does not help",
      default: "soft-then-hard",
    }),
    softTimeout: duration({
      env: "SOFT_TIMEOUT",
      description: "How long a graceful shutdown may take",
      default: "60s",
    }),
    stateTimeout,
  },
  run: (context) => {
    const { mode, softTimeout, stateTimeout: timeoutMs } = context.input;
    return runPower(context, { verb: "off", mode, softTimeoutMs: softTimeout, timeoutMs });
  },
});
