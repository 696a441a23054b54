import { suitePlan } from "../../shared/bmc/providers/ipmi/session/cipher-suite.ts";
import { bridged } from "../../shared/bmc/providers/ipmi/session/route.ts";
import type { Seal } from "../../shared/bmc/providers/ipmi/session/sealed-packet.ts";

// What tests give to the parsers of IPMI packets beside the packet.

export const SUITES = suitePlan({ allowSuite3: true }).asked;
const [SUITE] = SUITES;
if (!SUITE) throw new Error("there is no cipher suite");
export const SEAL: Seal = {
  suite: SUITE,
  keys: { sik: Buffer.alloc(32, 1), integrity: Buffer.alloc(32, 2), encryption: Buffer.alloc(16, 3) },
  sessionId: 0x01020304,
};
export const EXCHANGE = {
  consoleId: 1,
  bmcId: 2,
  consoleRandom: Buffer.alloc(16),
  bmcRandom: Buffer.alloc(16),
  guid: Buffer.alloc(16),
  role: 0x14,
  username: Buffer.alloc(0),
};
export const ROUTE = bridged({ channel: 7, address: 0x72 });
