import { defineAction } from "../harness/action.ts";
import { runBoot } from "../harness/run-boot.ts";

export default defineAction({
  name: "clear-boot-override",
  summary: "Take a boot override back, so that the machine boots in its own order",
  idempotent: true,
  input: {},
  run: (context) => runBoot(context, { device: "none", persistent: false, mode: "keep" }),
});
