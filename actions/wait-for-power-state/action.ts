import { defineAction } from "../harness/action.ts";
import { choice, duration } from "../harness/input/input.ts";

export default defineAction({
  name: "wait-for-power-state",
  summary: "Wait until a machine is on or off, for example after an installer shuts it down",
  idempotent: true,
  input: {
    state: choice(["on", "off"], { env: "STATE", description: "The state to wait for", required: true }),
    stateTimeout: duration({
      env: "STATE_TIMEOUT",
      description: "How long to wait; TIMEOUT also applies",
      default: "10m",
    }),
  },
  run: async ({ bmc, input, signal }) => bmc.waitForPower(input.state, input.stateTimeout, signal),
});
