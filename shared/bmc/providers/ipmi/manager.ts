import type { BmcResetKind } from "../../operations/manager.ts";
import { type Command, ipmiCommand, NetFn } from "./command.ts";

/** Cold Reset and Warm Reset (IPMI 2.0 sections 20.2 and 20.3). */
export function resetBmc(kind: BmcResetKind): Command {
  return ipmiCommand(
    kind === "cold" ? "Cold Reset" : "Warm Reset",
    NetFn.app,
    kind === "cold" ? 0x02 : 0x03,
    { needs: "administrator", effect: "once" },
  );
}
