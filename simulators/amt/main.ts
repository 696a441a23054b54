import { Command, Option } from "commander";
import { defined } from "../../shared/defined.ts";
import { secretIn, serve, wholeNumber } from "../command-line.ts";
import { SimulatedMachine } from "../machine.ts";
import { startAmtDevice } from "./device.ts";

interface Flags {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly passwordFile?: string;
  readonly latency: number;
  readonly power: "on" | "off";
  readonly consent: "none" | "required" | "given";
  readonly authInt?: true;
  readonly tls?: true;
}

/** The command `amt`: runs one simulated Intel AMT device in the foreground until it is interrupted. */
export function amtCommand(): Command {
  return new Command("amt")
    .description("an Intel AMT device (WS-Management) with one machine behind it")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes a free one", wholeNumber, 0)
    .option("--user <name>", "user name", "admin")
    .option("--password-file <file>", "file that holds the password; the password is `P@ssw0rd` without one")
    .option("--latency <ms>", "time added to every answer", wholeNumber, 0)
    .addOption(new Option("--power <state>", "power at the start").choices(["on", "off"]).default("on"))
    .addOption(
      new Option("--consent <kind>", "user consent for boot options")
        .choices(["none", "required", "given"])
        .default("none"),
    )
    .option("--auth-int", "offer the digest's auth-int beside auth, as Intel AMT 14.0 and later do")
    .option("--tls", "serve HTTPS with a fresh self-signed certificate")
    .action(run);
}

async function run(flags: Flags): Promise<void> {
  const password = secretIn(flags.passwordFile);
  const device = await startAmtDevice({
    machine: new SimulatedMachine({ power: flags.power }),
    username: flags.user,
    ...defined({ password, tls: flags.tls ? undefined : ("http" as const) }),
    consent: flags.consent,
    authInt: flags.authInt ?? false,
    latencyMs: flags.latency,
    host: flags.host,
    port: flags.port,
  });
  const { http } = device;
  const fingerprint = http.certificate ? { fingerprint: http.fingerprint } : {};
  await serve({ url: http.url, ...fingerprint }, device);
}
