import type { Command } from "commander";
import { serverCommand } from "../tink/main.ts";
import { startLegacyTinkServer } from "./server.ts";

/** The command `tink-legacy`: runs the simulated server of the deprecated API, like `tink`. */
export function legacyTinkCommand(): Command {
  const description = "simulate a tink-server of the deprecated API (tink 0.8 to 0.12)";
  return serverCommand("tink-legacy", description, ({ host, port }) => startLegacyTinkServer({ host, port }));
}
