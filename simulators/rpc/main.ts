import { Command, Option } from "commander";
import { secretIn, serve, wholeNumber } from "../command-line.ts";
import { startRpcConsumer } from "./consumer.ts";

interface Flags {
  readonly host: string;
  readonly port: number;
  readonly secretFile?: string;
  readonly naming: "bmclib" | "rufio";
  readonly latency: number;
}

/** The command `rpc`: runs one simulated webhook consumer in the foreground until it is interrupted. */
export function rpcCommand(): Command {
  return new Command("rpc")
    .description("a webhook that controls one machine, whatever host it is asked for")
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes a free one", wholeNumber, 0)
    .option("--secret-file <file>", "file that holds the secret of the signatures, which are required then")
    .addOption(new Option("--naming <kind>", "header names").choices(["bmclib", "rufio"]).default("bmclib"))
    .option("--latency <ms>", "time added to every answer", wholeNumber, 0)
    .action(run);
}

async function run({ host, port, secretFile, naming, latency }: Flags): Promise<void> {
  const secret = secretIn(secretFile);
  const signature = secret !== undefined && {
    algorithm: "sha256" as const,
    secrets: [secret],
    header: `x-${naming}-signature-256`,
    included: naming === "rufio" ? ["x-rufio-timestamp"] : [],
    prefixed: true,
  };
  const consumer = await startRpcConsumer({
    tls: "http",
    host,
    port,
    latencyMs: latency,
    ...(signature ? { signature } : {}),
  });
  await serve({ url: consumer.http.url }, consumer);
}
