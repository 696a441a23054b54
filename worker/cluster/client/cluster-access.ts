import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { textOf } from "../../../shared/text-of.ts";
import { KubernetesError } from "./kubernetes-error.ts";

/** How to get at one API server: its address, trust, and who asks. */
export interface ClusterAccess {
  /** Without a slash at its end. */
  readonly server: string;
  /** The namespace that the pod runs in or the kubeconfig's context names. */
  readonly namespace: string | undefined;
  /** What requests need now. Rejects with a `KubernetesError` when it cannot be had, as from a broken exec plugin. */
  credentials(): Promise<AccessCredentials>;
  /** The API refused them: what is remembered of them is forgotten. */
  forget(): void;
  close(): Promise<void>;
}

export interface AccessCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
}

/** A token or certificate in a file is replaced while the process lives: client-go reads it anew every minute, too. */
const REREAD_MS = 60_000;
const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/** Below what load balancers close idle connections after (60 s at some): a dead one is found out. */
const KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Opens what `kubeconfig` names; without it the pod's own service account, else `$KUBECONFIG`, else `~/.kube/config`.
 * Rejects with a `KubernetesError` that names the file.
 */
export async function openAccess(kubeconfig: string | undefined): Promise<ClusterAccess> {
  // Loaded where a cluster is used: nobody else is to pay for its hundreds of modules.
  const { KubeConfig } = await import("./kube-config.ts");
  const config = new KubeConfig();
  const from = load(config, kubeconfig);
  const cluster = config.getCurrentCluster();
  if (!cluster) {
    throw new KubernetesError(
      "invalid",
      `${from} names no current context with a cluster: nothing to connect to`,
    );
  }
  return new KubeConfigAccess(config, cluster.server.replace(/(?<!\/)\/+$/, ""), cluster.proxyUrl);
}

/** Gives what the settings came from, for messages. */
function load(config: KubeConfig, kubeconfig: string | undefined): string {
  const from = kubeconfig ?? (existsSync(SERVICE_ACCOUNT_TOKEN) ? undefined : "the default kubeconfig");
  try {
    if (kubeconfig !== undefined) config.loadFromFile(kubeconfig);
    else if (from === undefined) config.loadFromCluster();
    else config.loadFromDefault();
  } catch (thrown) {
    throw new KubernetesError("invalid", `${from ?? "the pod's service account"}: ${oneLineOf(thrown)}`);
  }
  return from ?? "the pod's service account";
}

class KubeConfigAccess implements ClusterAccess {
  readonly server: string;
  readonly namespace: string | undefined;
  readonly #config: KubeConfig;
  readonly #proxy: string | undefined;
  #current: (AccessCredentials & { readonly readMs: number }) | undefined;
  #reading: Promise<AccessCredentials> | undefined;
  #dispatcher: { readonly key: string; readonly dispatcher: Dispatcher } | undefined;
  readonly #retired: Dispatcher[] = [];

  constructor(config: KubeConfig, server: string, proxy: string | undefined) {
    this.#config = config;
    this.server = server;
    this.#proxy = proxy;
    this.namespace = config.getContextObject(config.getCurrentContext())?.namespace || undefined;
  }

  async credentials(): Promise<AccessCredentials> {
    if (this.#current && performance.now() - this.#current.readMs < REREAD_MS) return this.#current;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

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
      throw new KubernetesError("unauthorized", `no credentials for ${this.server}: ${oneLineOf(thrown)}`);
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

  /** The same connections as long as certificates stay the same. */
  #dispatcherFor({ ca, cert, key, rejectUnauthorized, servername }: RequestOptions): Dispatcher {
    const tls = { ca, cert, key, servername, rejectUnauthorized: rejectUnauthorized ?? true };
    const digest = createHash("sha256").update(JSON.stringify(tls)).digest("hex");
    if (this.#dispatcher?.key === digest) return this.#dispatcher.dispatcher;
    // Watches and requests under way go on over the old connections; they are closed with everything else.
    if (this.#dispatcher) this.#retired.push(this.#dispatcher.dispatcher);
    const connect = { timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
    const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
    const dispatcher =
      this.#proxy === undefined
        ? new Agent({ connect: { ...connect, ...given }, bodyTimeout: 0 })
        : new ProxyAgent({ uri: this.#proxy, requestTls: given, connect, bodyTimeout: 0 });
    this.#dispatcher = { key: digest, dispatcher };
    return dispatcher;
  }
}

function oneLineOf(thrown: unknown): string {
  return textOf(thrown).replace(/\s+/g, " ");
}
