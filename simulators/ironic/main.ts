import { Command, Option } from "commander";
import { defined } from "../../shared/defined.ts";
import { secretIn, serve, wholeNumber } from "../command-line.ts";
import { SimulatedMachine } from "../machine.ts";
import { type SimulatedAuth, startIronic } from "./server.ts";

interface Flags {
  readonly host: string;
  readonly port: number;
  readonly node: string;
  readonly auth: SimulatedAuth;
  readonly passwordFile?: string;
  readonly latency: number;
  readonly power: "on" | "off";
}

/** The command `ironic`: runs one simulated Ironic with a node, and its Keystone, in the foreground until it is interrupted. */
export function ironicCommand(): Command {
  return new Command("ironic")
    .description("an Ironic with one node, and a Keystone on the same port")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes a free one", wholeNumber, 0)
    .option("--node <name>", "the node", "node-1")
    .addOption(
      new Option("--auth <method>", "what requests need; the user is admin")
        .choices(["none", "basic", "keystone"])
        .default("none"),
    )
    .option("--password-file <file>", "file that holds the password; it is `ironic-calvin` without one")
    .option("--latency <ms>", "time added to every answer", wholeNumber, 0)
    .addOption(new Option("--power <state>", "power at the start").choices(["on", "off"]).default("on"))
    .action(run);
}

async function run({ host, port, node, auth, passwordFile, latency, power }: Flags): Promise<void> {
  const password = secretIn(passwordFile);
  const server = await startIronic({
    tls: "http",
    machines: { [node]: new SimulatedMachine({ power }) },
    auth,
    host,
    port,
    latencyMs: latency,
    ...defined({ login: password === undefined ? undefined : { username: "admin", password } }),
  });
  await serve({ url: server.http.url, node }, server);
}
