import { createPublicKey, randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { createCertificate } from "../../../simulators/certificate.ts";
import type { ClusterAccess } from "../../../simulators/kubernetes/node/cluster-access.ts";
import { ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";
import { openFolder } from "../../support/folder.ts";
import { kubeconfigOf } from "../../support/kubeconfig.ts";
import { freePort } from "../free-port.ts";
import { BackgroundProgram } from "./background-program.ts";
import { customResourceDefinitions } from "./custom-resource-definitions.ts";

/** The paths of the programs. */
export interface ControlPlanePrograms {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
}

export interface ControlPlane extends AsyncDisposable {
  /** Access for a user with every right. */
  readonly access: ClusterAccess;
}

const Definition = z.object({
  spec: z.object({
    group: z.string(),
    names: z.object({ plural: z.string() }),
    versions: z.array(z.object({ name: z.string() })),
  }),
});

const START_MS = 180_000;
const PAUSE_MS = 100;
/** What the worker relies on. Node controllers are left out: the tests play the nodes. */
const CONTROLLERS = [
  "deployment-controller",
  "job-controller",
  "replicaset-controller",
  "ttl-after-finished-controller",
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
];

/**
 * Starts etcd, kube-apiserver and kube-controller-manager on loopback, and defines Tinkerbell's and Metal3's kinds. There is
 * no node and no scheduler. `more` are further arguments.
 */
export async function startControlPlane(
  programs: ControlPlanePrograms,
  more: {
    readonly apiServer?: readonly string[];
    readonly controllerManager?: readonly string[];
    /** In place of the definitions that accept any content. */
    readonly definitions?: readonly object[];
  } = {},
): Promise<ControlPlane> {
  await using parts = new AsyncDisposableStack();
  const { folder } = parts.use(await openFolder());
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(join(folder, name), content, { mode: 0o600 });
    return join(folder, name);
  };
  const running: BackgroundProgram[] = [];
  const start = (program: keyof ControlPlanePrograms, argv: readonly string[]) =>
    running.push(parts.use(new BackgroundProgram(programs[program], argv, join(folder, `${program}.log`))));
  const deadline = AbortSignal.timeout(START_MS);
  const until = async (check: () => Promise<unknown>) => {
    while (!(await succeeds(check))) {
      for (const program of running) program.throwIfEnded();
      await sleep(PAUSE_MS, undefined, { signal: deadline });
    }
  };

  const [etcdPort, port] = [await freePort(), await freePort()];
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  start("etcd", [
    ...["--data-dir", join(folder, "etcd"), "--unsafe-no-fsync"],
    ...["--listen-client-urls", etcdUrl, "--advertise-client-urls", etcdUrl],
    ...["--listen-peer-urls", "http://127.0.0.1:0"],
  ]);

  const token = randomBytes(16).toString("hex");
  const { cert, key } = createCertificate({ commonName: "kube-apiserver", altNames: ["127.0.0.1"] });
  const keyFile = await file("server.key", key);
  const publicKey = createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
  start("apiServer", [
    ...["--etcd-servers", etcdUrl, "--endpoint-reconciler-type", "none"],
    ...["--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", `${port}`],
    ...["--tls-cert-file", await file("server.crt", cert), "--tls-private-key-file", keyFile],
    ...["--token-auth-file", await file("tokens.csv", `${token},admin,admin,system:masters\n`)],
    ...["--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.96.0.0/16"],
    ...["--service-account-issuer", "https://kubernetes.default.svc"],
    ...["--service-account-signing-key-file", keyFile],
    ...["--service-account-key-file", await file("server.pub", publicKey)],
    ...(more.apiServer ?? []),
  ]);
  const access = { url: `https://127.0.0.1:${port}`, ca: cert, token };
  const client = new ClusterClient(access);
  parts.defer(() => client.close());
  await until(() => client.text("/readyz"));
  for (const definition of more.definitions ?? customResourceDefinitions()) {
    const { spec } = Definition.parse(definition);
    await client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    for (const { name } of spec.versions) {
      await until(() => client.list(`/apis/${spec.group}/${name}/${spec.names.plural}`));
    }
  }

  start("controllerManager", [
    ...["--kubeconfig", await file("kubeconfig", kubeconfigOf(access))],
    ...["--controllers", CONTROLLERS.join(","), "--leader-elect=false", "--secure-port", "0"],
    ...(more.controllerManager ?? []),
  ]);
  await until(() => client.get("/api/v1/namespaces/default/serviceaccounts/default"));

  const started = parts.move();
  return { access, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

async function succeeds(check: () => Promise<unknown>): Promise<boolean> {
  return check().then(
    () => true,
    () => false,
  );
}
