import { Command, Option } from "commander";
import { defined } from "../../shared/defined.ts";
import { secretIn, serve, wholeNumber } from "../command-line.ts";
import { SimulatedMachine } from "../machine.ts";
import { startRedfishBmc } from "./bmc.ts";
import { redfishProfiles } from "./profiles.ts";

interface Flags {
  readonly host: string;
  readonly port: number;
  readonly profile: string;
  readonly user: string;
  readonly passwordFile?: string;
  readonly latency: number;
  readonly power: "on" | "off";
  readonly tls: boolean;
}

/** The command `redfish`: runs one simulated BMC in the foreground until it is interrupted. */
export function redfishCommand(): Command {
  return new Command("redfish")
    .description("a Redfish BMC with one machine behind it")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes a free one", wholeNumber, 0)
    .addOption(
      new Option("--profile <name>", "make of BMC").choices(Object.keys(redfishProfiles)).default("generic"),
    )
    .option("--user <name>", "user name", "admin")
    .option("--password-file <file>", "file that holds the password; the password is `calvin` without one")
    .option("--latency <ms>", "time added to every answer", wholeNumber, 0)
    .addOption(new Option("--power <state>", "power at the start").choices(["on", "off"]).default("on"))
    .option("--tls", "serve HTTPS with a fresh self-signed certificate", true)
    .addOption(new Option("--http", "serve plain HTTP").implies({ tls: false }))
    .action(run);
}

async function run(flags: Flags): Promise<void> {
  const bmc = await startRedfishBmc({
    machines: [new SimulatedMachine({ power: flags.power })],
    profile: flags.profile,
    username: flags.user,
    latencyMs: flags.latency,
    host: flags.host,
    port: flags.port,
    ...defined({ password: secretIn(flags.passwordFile), tls: flags.tls ? undefined : ("http" as const) }),
  });
  const facts = {
    url: bmc.url,
    profile: bmc.profile.name,
    systems: bmc.systemPaths,
    ...(bmc.certificate ? { fingerprint: bmc.fingerprint } : {}),
  };
  await serve(facts, bmc);
}
