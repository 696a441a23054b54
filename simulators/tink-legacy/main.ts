import type { Command } from "commander";
import { serverCommand } from "../tink/main.ts";
import { startLegacyTinkServer } from "./server.ts";

/** `tink-legacy`: the simulated server of the deprecated API as a program, like `tink`. */
export function legacyTinkCommand(): Command {
  const description = "simulate a tink-server of the deprecated API (tink 0.8 to 0.12)";
  return serverCommand("tink-legacy", description, ({ host, port }) => startLegacyTinkServer({ host, port }));
}
