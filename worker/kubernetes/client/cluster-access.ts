import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type { RequestOptions } from "node:https";
import type { Cluster, KubeConfig } from "@kubernetes/client-node";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { defined } from "../../../shared/defined.ts";
import { fileProblemOf } from "../../../shared/read-text-file.ts";
import { textOf } from "../../../shared/text-of.ts";
import { parseIdentityKubeconfig } from "./identity-kubeconfig.ts";
import { KubernetesError } from "./kubernetes-error.ts";

interface AccessCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
}

/** How often to reread tokens and certificates from files, which are rotated. client-go does so every minute, too. */
const REREAD_MS = 60_000;
const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/** Load balancers close idle connections after as little as 60 s. */
const KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** The server that the library's `loadFromDefault` chooses if it finds no kubeconfig, in a context called `loaded-context`. */
const SERVER_WITHOUT_KUBECONFIG = "http://localhost:8080";

/**
 * Opens `kubeconfig`; without it the pod's service account, then `$KUBECONFIG`, then `~/.kube/config`. `contextName` selects
 * a context instead of the current one. Rejects with a `KubernetesError` that names the file.
 */
export async function openAccess(
  kubeconfig: string | undefined,
  contextName?: string,
): Promise<ClusterAccess> {
  // Loaded only when needed, because the package has hundreds of modules.
  const { KubeConfig } = await import("./kube-config.ts");
  const config = new KubeConfig();
  const from = load(config, kubeconfig);
  if (contextName !== undefined) {
    if (!config.getContextObject(contextName)) {
      throw new KubernetesError("invalid", `${from} has no context ${contextName}`);
    }
    config.setCurrentContext(contextName);
  }
  const cluster = config.getCurrentCluster();
  if (!cluster) {
    const text = `${from} names no current context with a cluster: nothing to connect to`;
    throw new KubernetesError("invalid", text);
  }
  refusePlainHttp(from, cluster);
  return new ClusterAccess(config, cluster);
}

/** Opens a kubeconfig that users of a cluster wrote. Rejects as `parseIdentityKubeconfig` does. */
export async function openIdentity(text: string, contextName: string | undefined): Promise<ClusterAccess> {
  const { server, ca, serverName, token, certificate, key, namespace } = parseIdentityKubeconfig(
    text,
    contextName,
  );
  const { KubeConfig } = await import("./kube-config.ts");
  const config = new KubeConfig();
  const cluster = {
    name: "identity",
    server,
    skipTLSVerify: false,
    ...defined({ caData: ca, tlsServerName: serverName }),
  };
  config.loadFromOptions({
    clusters: [cluster],
    users: [{ name: "identity", ...defined({ token, certData: certificate, keyData: key }) }],
    contexts: [{ name: "identity", cluster: "identity", user: "identity", ...defined({ namespace }) }],
    currentContext: "identity",
  });
  return new ClusterAccess(config, cluster);
}

function load(config: KubeConfig, kubeconfig: string | undefined): string {
  const isInPod = kubeconfig === undefined && existsSync(SERVICE_ACCOUNT_TOKEN);
  const from = kubeconfig ?? (isInPod ? "the pod's service account" : "the default kubeconfig");
  try {
    if (kubeconfig !== undefined) config.loadFromFile(kubeconfig);
    else if (isInPod) config.loadFromCluster();
    else config.loadFromDefault();
  } catch (thrown) {
    const isSystem = thrown instanceof Error && "syscall" in thrown;
    throw new KubernetesError(
      "invalid",
      isSystem ? `the kubeconfig ${from} ${fileProblemOf(thrown)}` : `${from}: ${textOf(thrown)}`,
    );
  }
  if (
    config.getCurrentCluster()?.server === SERVER_WITHOUT_KUBECONFIG &&
    config.getCurrentContext() === "loaded-context"
  ) {
    const text = "no kubeconfig found: pass --kubeconfig, set $KUBECONFIG or create ~/.kube/config";
    throw new KubernetesError("invalid", text);
  }
  return from;
}

/** The library refuses such a server too, but only at the first request, and its message names its own options. */
function refusePlainHttp(from: string, { server, skipTLSVerify, proxyUrl }: Cluster): void {
  if (!server.startsWith("http:") || skipTLSVerify || proxyUrl) return;
  const fix =
    "use an https:// server, or set insecure-skip-tls-verify: true for a server such as `kubectl proxy`";
  throw new KubernetesError(
    "invalid",
    `${from}: ${server} has no TLS, so no token is sent to it. Fix: ${fix}`,
  );
}

/** The server and the credentials of a kubeconfig. */
export class ClusterAccess {
  /** The server's URL without a trailing slash. */
  readonly server: string;
  /** The namespace of the pod or of the kubeconfig's context. */
  readonly namespace: string | undefined;
  readonly #config: KubeConfig;
  readonly #proxy: string | undefined;
  #current: (AccessCredentials & { readonly readMs: number }) | undefined;
  #reading: Promise<AccessCredentials> | undefined;
  #dispatcher: { readonly key: string; readonly dispatcher: Dispatcher } | undefined;
  readonly #retired: Dispatcher[] = [];

  constructor(config: KubeConfig, { server, proxyUrl }: Cluster) {
    this.#config = config;
    this.server = server.replace(/(?<!\/)\/+$/, "");
    this.#proxy = proxyUrl;
    this.namespace = config.getContextObject(config.getCurrentContext())?.namespace || undefined;
  }

  /** Credentials for the next request. Rejects with a `KubernetesError`, for example if an exec plugin fails. */
  async credentials(): Promise<AccessCredentials> {
    if (this.#current && performance.now() - this.#current.readMs < REREAD_MS) return this.#current;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Forgets cached credentials, because the API rejected them. */
  forget(): void {
    this.#current = undefined;
  }

  async close(): Promise<void> {
    const all = [...this.#retired, ...(this.#dispatcher ? [this.#dispatcher.dispatcher] : [])];
    await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
  }

  async #read(): Promise<AccessCredentials> {
    const options: RequestOptions = {};
    try {
      await this.#config.applyToHTTPSOptions(options);
    } catch (thrown) {
      throw new KubernetesError("unauthorized", `no credentials for ${this.server}: ${textOf(thrown)}`);
    }
    const { headers = {} } = options;
    const credentials = {
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      dispatcher: this.#dispatcherFor(options),
      readMs: performance.now(),
    };
    this.#current = credentials;
    return credentials;
  }

  /** Reuses connections until the certificates change. */
  #dispatcherFor({ ca, cert, key, rejectUnauthorized, servername }: RequestOptions): Dispatcher {
    const tls = { ca, cert, key, servername, rejectUnauthorized: rejectUnauthorized ?? true };
    const digest = createHash("sha256").update(JSON.stringify(tls)).digest("hex");
    if (this.#dispatcher?.key === digest) return this.#dispatcher.dispatcher;
    // Open watches and requests keep their connections until `close`.
    if (this.#dispatcher) this.#retired.push(this.#dispatcher.dispatcher);
    const connect = { timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
    const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
    // When undici destroys an HTTP/2 connection, an exception can end the process (nodejs/undici#5586).
    const options = { allowH2: false, bodyTimeout: 0 };
    const dispatcher =
      this.#proxy === undefined
        ? new Agent({ ...options, connect: { ...connect, ...given } })
        : new ProxyAgent({ ...options, uri: this.#proxy, requestTls: given, connect });
    this.#dispatcher = { key: digest, dispatcher };
    return dispatcher;
  }
}
