import { defineAction } from "../harness/action.ts";
import { powerInput } from "../harness/input/machine-input.ts";
import { runPower } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "power-on",
  summary: "Power a machine on and verify that it is on",
  idempotent: true,
  input: powerInput,
  run: (context) => runPower(context, { verb: "on", timeoutMs: context.input.stateTimeout }),
});
