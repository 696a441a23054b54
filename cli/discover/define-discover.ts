import type { Command } from "commander";
import { readWords } from "../../shared/unknown-arguments.ts";
import type { DiscoverFlags } from "./discover-command.ts";

/** `pbnj-worker discover`. */
export function defineDiscover(command: Command): void {
  command
    .description(
      "Look for BMCs: Redfish, IPMI and Intel AMT. Logs in nowhere unless you pass --credentials. Probe only networks that you " +
        "operate.",
    )
    .argument(
      "[address...]",
      "hosts, addresses, blocks (192.0.2.0/28, 2001:db8::/120), ranges (10.0.0.5-10.0.0.40)",
    )
    .option(
      "--from-leases <file>",
      "the addresses in a leases file of ISC dhcpd, Kea or dnsmasq; repeat for several",
      collect,
    )
    .option("--ssdp", "search the local networks for Redfish services with SSDP")
    .option("--credentials <file>", "user names and passwords to try, in YAML")
    .option(
      "--attempts <number>",
      "how many of them to try per BMC; BMCs lock accounts, often after 3 failures",
      "2",
    )
    .option(
      "--trust-on-first-use",
      "send credentials to certificates that no authority verifies, and write their fingerprints",
    )
    .option("--write <file>", "write an inventory for review; existing files stay")
    .option(
      "--format <inventory|objects>",
      "what to write: an inventory, or Machine and Hardware objects",
      "inventory",
    )
    .option("--namespace <name>", "the namespace of the objects", "tink-system")
    .option(
      "--output <auto|table|json|yaml|rufio>",
      "output format; auto is a table on a terminal, else JSON; rufio is Machine and Hardware objects for kubectl apply",
      "auto",
    )
    .option("--rate <number>", "connections and packets per second", "100")
    .option("--concurrency <number>", "hosts to probe at a time", "100")
    .option("--timeout <duration>", "time for each connection and for each answer", "5s")
    .option("--redfish-port <number>", "the TCP port of Redfish", "443")
    .option("--ipmi-port <number>", "the UDP port of IPMI", "623")
    .option("--amt-port <number>", "the TCP port of Intel AMT without TLS", "16992")
    .option("--amt-tls-port <number>", "the TCP port of Intel AMT with TLS", "16993")
    .allowUnknownOption()
    .action(async (_words: readonly string[], flags: DiscoverFlags) => {
      const { discover } = await import("./discover-command.ts");
      const { operands, problems } = readWords(command, { most: Number.POSITIVE_INFINITY });
      process.exit(await discover(operands, flags, problems));
    });
}

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}
