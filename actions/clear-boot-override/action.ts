import { defineAction } from "../harness/action.ts";
import { runBoot } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "clear-boot-override",
  summary: "Clear a boot override, so that the machine uses its own boot order",
  idempotent: true,
  input: {},
  run: (context) => runBoot(context, { device: "none", persistent: false, mode: "keep" }),
});
