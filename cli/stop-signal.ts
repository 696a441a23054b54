import { BmcError } from "../shared/contract/bmc-error.ts";
import { exitCodeOf, type StopSignal } from "../shared/contract/exit-code.ts";

/** Listens for SIGINT and SIGTERM. The first aborts `signal`, and `by` returns its name. The second ends the process. */
export function listenForStop(): { readonly signal: AbortSignal; by(): StopSignal } {
  const controller = new AbortController();
  let received: StopSignal = "SIGINT";
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(exitCodeOf("cancelled", name));
      received = name;
      controller.abort(new BmcError("cancelled", `cancelled by ${name}`));
    });
  }
  return { signal: controller.signal, by: () => received };
}
