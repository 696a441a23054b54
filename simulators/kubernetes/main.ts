import { writeFileSync } from "node:fs";
import { Command, Option } from "commander";
import { serve, wholeNumber } from "../command-line.ts";
import { FakeCluster } from "./cluster.ts";

interface Flags {
  readonly host: string;
  readonly port: number;
  readonly kubeconfig: string;
  readonly crds: readonly ("v1alpha1" | "v1alpha2" | "none")[];
  readonly namespace: readonly string[];
  readonly latency: number;
  readonly controllers: boolean;
}

/** The command `kubernetes`: runs one fake API server in the foreground until it is interrupted. */
export function kubernetesCommand(): Command {
  return new Command("kubernetes")
    .description(
      "a Kubernetes API server with Tinkerbell's kinds, in memory. It reads JSON only: Go controllers, which send protobuf, need a real one",
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes a free one", wholeNumber, 0)
    .option("--kubeconfig <file>", "file to write its kubeconfig to", "kubeconfig")
    .addOption(
      new Option("--crds <versions...>", "Tinkerbell's kinds that it has")
        .choices(["v1alpha1", "v1alpha2", "none"])
        .default(["v1alpha1"]),
    )
    .option("--namespace <names...>", "namespaces at the start", ["default", "tink-system"])
    .option("--latency <ms>", "time added to every answer", wholeNumber, 0)
    .option("--no-controllers", "no Pods for Jobs and no garbage collection: an API server alone")
    .action(run);
}

async function run({ host, port, kubeconfig, crds, namespace, latency, controllers }: Flags): Promise<void> {
  const cluster = await FakeCluster.start({
    host,
    port,
    controllers,
    namespaces: namespace,
    crds: crds.flatMap((crd) => (crd === "none" ? [] : [crd])),
  });
  cluster.latencyMs = latency;
  writeFileSync(kubeconfig, cluster.kubeconfig(), { mode: 0o600 });
  await serve({ url: cluster.url, kubeconfig }, cluster);
}
