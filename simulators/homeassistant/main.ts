import { Command, Option } from "commander";
import { defined } from "../../shared/defined.ts";
import { secretIn, serve, wholeNumber } from "../command-line.ts";
import { SimulatedMachine } from "../machine.ts";
import { startHomeAssistant } from "./server.ts";

interface Flags {
  readonly host: string;
  readonly port: number;
  readonly tokenFile?: string;
  readonly entity: string;
  readonly latency: number;
  readonly power: "on" | "off";
}

/** The command `homeassistant`: runs one simulated Home Assistant in the foreground until it is interrupted. */
export function homeAssistantCommand(): Command {
  return new Command("homeassistant")
    .description("a Home Assistant with one switch that a machine is plugged into")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes a free one", wholeNumber, 0)
    .option("--token-file <file>", "file that holds the access token; it is `token-calvin` without one")
    .option("--entity <id>", "the switch", "switch.node_1")
    .option("--latency <ms>", "time added to every answer", wholeNumber, 0)
    .addOption(new Option("--power <state>", "power at the start").choices(["on", "off"]).default("on"))
    .action(run);
}

async function run({ host, port, tokenFile, entity, latency, power }: Flags): Promise<void> {
  const token = secretIn(tokenFile);
  const server = await startHomeAssistant({
    tls: "http",
    machine: new SimulatedMachine({ power }),
    host,
    port,
    entity,
    latencyMs: latency,
    ...defined({ token }),
  });
  await serve({ url: server.http.url, entity }, server);
}
