import { Command, Option } from "commander";
import { defined } from "../../shared/defined.ts";
import { secretIn, serve, wholeNumber } from "../command-line.ts";
import { SimulatedMachine } from "../machine.ts";
import { startIpmiBmc } from "./bmc.ts";

interface Flags {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly passwordFile?: string;
  readonly kgFile?: string;
  readonly latency: number;
  readonly power: "on" | "off";
}

/** The command `ipmi`: runs one simulated BMC in the foreground until it is interrupted. */
export function ipmiCommand(): Command {
  return new Command("ipmi")
    .description("an IPMI 2.0 BMC with one machine behind it")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "UDP port to listen on; 0 takes a free one", wholeNumber, 0)
    .option("--user <name>", "user name", "admin")
    .option("--password-file <file>", "file that holds the password; the password is `calvin` without one")
    .option("--kg-file <file>", "file that holds the BMC key Kg; there is none without one")
    .option("--latency <ms>", "time added to every answer", wholeNumber, 0)
    .addOption(new Option("--power <state>", "power at the start").choices(["on", "off"]).default("on"))
    .action(run);
}

async function run(flags: Flags): Promise<void> {
  const bmc = await startIpmiBmc({
    machine: new SimulatedMachine({ power: flags.power }),
    host: flags.host,
    port: flags.port,
    users: [{ name: flags.user, password: secretIn(flags.passwordFile) ?? "calvin" }],
    ...defined({ kg: secretIn(flags.kgFile) }),
    network: { latencyMs: flags.latency },
  });
  await serve({ host: bmc.host, port: bmc.port, user: flags.user }, bmc);
}
