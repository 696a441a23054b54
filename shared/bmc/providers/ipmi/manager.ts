import type { BmcResetKind } from "../../operations/manager.ts";
import { type Command, NetFn } from "./command.ts";

/** Cold Reset and Warm Reset (IPMI 2.0 sections 20.2 and 20.3). */
export function resetBmc(kind: BmcResetKind): Command {
  return {
    name: kind === "cold" ? "Cold Reset" : "Warm Reset",
    netFn: NetFn.app,
    command: kind === "cold" ? 0x02 : 0x03,
    data: new Uint8Array(),
    needs: "administrator",
    effect: "once",
  };
}
