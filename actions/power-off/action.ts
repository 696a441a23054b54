import { defineAction } from "../harness/action.ts";
import { choice, duration } from "../harness/input/input.ts";
import { powerInput } from "../harness/input/machine-input.ts";
import { runPower } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "power-off",
  summary: "Power a machine off, gracefully first by default, and verify that it is off",
  idempotent: true,
  input: {
    mode: choice(["hard", "soft", "soft-then-hard"], {
      env: "MODE",
      description:
        "Force the machine off, shut it down gracefully, or force it off if the graceful shutdown fails",
      default: "soft-then-hard",
    }),
    softTimeout: duration({
      env: "SOFT_TIMEOUT",
      description: "Time limit for a graceful shutdown",
      default: "60s",
    }),
    ...powerInput,
  },
  run: (context) => {
    const { mode, softTimeout, stateTimeout: timeoutMs } = context.input;
    return runPower(context, { verb: "off", mode, softTimeoutMs: softTimeout, timeoutMs });
  },
});
