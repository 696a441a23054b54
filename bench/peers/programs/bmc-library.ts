import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { BmcClient, Connection } from "../../../shared/bmc/index.ts";

/** The program: drives a BMC with `@pbnj-worker/bmc`, as bench/peers/README.md describes. */
const LONGEST_MS = 60_000;
const given = (name: string) => process.env[`PEER_${name}`] ?? "";
const protocol = given("PROTOCOL");
const fallback = given("FALLBACK_PROTOCOL");
/** Undefined for a protocol that is not tried. */
const portOf = (name: string) => {
  if (name === protocol) return Number(given("PORT"));
  return name === fallback ? Number(given("FALLBACK_PORT")) : undefined;
};
const client = new BmcClient(
  Connection.parseUnknown({
    host: given("HOST"),
    username: given("USERNAME"),
    password: readFileSync(given("PASSWORD_FILE"), "utf8").trim(),
    providers: [protocol, ...(fallback === "" ? [] : [fallback])],
    redfish: { port: portOf("redfish"), scheme: given("SCHEME") },
    ipmi: { port: portOf("ipmi"), allowSuite3: given("CIPHER_SUITE") === "3" },
  }),
);
const lines = createInterface({ input: process.stdin });
try {
  for (let done = 0; done < Number(given("REPEAT")); done += 1) {
    if (done > 0) await once(lines, "line");
    process.stdout.write(`${await operate(given("OPERATION"))}\n`);
  }
} finally {
  lines.close();
  await client.close();
}

async function operate(operation: string): Promise<string> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  const timeoutMs = LONGEST_MS;
  switch (operation) {
    case "state":
      return client.getPower(signal);
    case "on":
      return (await client.setPower({ verb: "on", timeoutMs }, signal)).after;
    case "off":
      return (await client.setPower({ verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs }, signal))
        .after;
    case "pxe-once": {
      const { after } = await client.setBoot({ device: "pxe", persistent: false, mode: "uefi" }, signal);
      return after?.device === "pxe" && !after.persistent ? "pxe" : `found ${JSON.stringify(after)}`;
    }
    case "inventory":
      return JSON.stringify((await client.getHardware(signal)).system);
    case "insert-media":
      return (await client.insertMedia(given("MEDIA_URL"), signal)).after?.inserted ? "inserted" : "empty";
    default:
      throw new Error(`unknown operation ${operation}`);
  }
}
