import { BmcError } from "../../shared/contract/bmc-error.ts";
import { exitCodeOf, type StopSignal } from "../../shared/contract/exit-code.ts";

/** The first SIGINT or SIGTERM aborts `signal`; `exitCode` is the one for it. */
export function listenForStop(): { readonly signal: AbortSignal; exitCode(): number } {
  const controller = new AbortController();
  let received: StopSignal = "SIGINT";
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.once(name, () => {
      received = name;
      controller.abort(new BmcError("cancelled", `cancelled by ${name}`));
    });
  }
  return { signal: controller.signal, exitCode: () => exitCodeOf("cancelled", received) };
}
