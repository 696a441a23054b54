import { BmcClient, BmcError, Connection, type ConnectionInput } from "@pbnj-worker/bmc";

const given: ConnectionInput = {
  host: process.env["BMC_HOST"] ?? "",
  username: process.env["BMC_USERNAME"],
  password: process.env["BMC_PASSWORD"],
  providers: ["redfish"],
  redfish: { port: Number(process.env["BMC_PORT"] ?? 443) },
  tls: { fingerprint: process.env["BMC_FINGERPRINT"] },
};
// Throws a BmcError with a line per problem. Secrets cannot be printed from here on.
const bmc = new BmcClient(Connection.parse(given));
const signal = AbortSignal.timeout(300_000);
try {
  const boot = await bmc.setBoot({ device: "pxe", persistent: false, mode: "uefi" }, signal);
  process.stdout.write(`${boot.summary}\n`);
  const power = await bmc.setPower({ verb: "on", timeoutMs: 120_000 }, signal);
  process.stdout.write(`${power.summary} via ${bmc.provider}\n`);
} catch (error) {
  if (!(error instanceof BmcError)) throw error;
  process.stderr.write(`${error.class}: ${error.message}\n`);
  process.exitCode = 1;
} finally {
  // Logs out. Afterwards `bmc.hint` is what the next connection to this BMC should be given.
  await bmc.close();
}
