import { HttpListener, type HttpListenerOptions, type Reply, type SeenRequest } from "../http-listener.ts";
import { SimulatedMachine } from "../machine.ts";
import { type KeystoneLogin, KeystoneTokens } from "./keystone.ts";
import { SimulatedNode } from "./node.ts";
import { fault, json, parse } from "./reply.ts";

export type SimulatedAuth = "none" | "basic" | "keystone";

export interface IronicOptions extends HttpListenerOptions {
  /** The machines by node name. Defaults to one machine, `node-1`. */
  readonly machines?: Readonly<Record<string, SimulatedMachine>>;
  readonly auth?: SimulatedAuth;
  readonly login?: KeystoneLogin;
  /** The newest supported minor version of the API. */
  readonly minor?: number;
}

const PAGE = 2;

/** A simulated Ironic and the Keystone that issues its tokens, on one port. */
export class IronicServer {
  readonly http: HttpListener;
  readonly nodes: ReadonlyMap<string, SimulatedNode>;
  readonly keystone: KeystoneTokens;
  readonly #auth: SimulatedAuth;
  readonly #basic: string;
  readonly #minor: number;

  constructor(options: IronicOptions) {
    const login = options.login ?? { username: "admin", password: "ironic-calvin" };
    const machines = options.machines ?? { "node-1": new SimulatedMachine() };
    this.nodes = new Map(
      Object.entries(machines).map(([name, machine]) => [name, new SimulatedNode(machine)]),
    );
    this.keystone = new KeystoneTokens(login);
    this.#auth = options.auth ?? "none";
    this.#basic = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;
    this.#minor = options.minor ?? 115;
    this.http = new HttpListener(options, (request) => this.#answer(request));
  }

  /** Returns the node with this name. Throws if there is none. */
  node(name = "node-1"): SimulatedNode {
    const node = this.nodes.get(name);
    if (!node) throw new Error(`no node ${name}`);
    return node;
  }

  async close(): Promise<void> {
    for (const { machine } of this.nodes.values()) machine.close();
    await this.http.close();
  }

  #answer(request: SeenRequest): Reply {
    const token = this.keystone.answer(request);
    if (token) return token;
    const { method, path, headers, body } = request;
    if (!this.#admits(headers))
      return json(401, { error: { code: 401, message: "Incorrect username or password" } });
    const [, minor] = /^1\.(\d+)$/.exec(String(headers["x-openstack-ironic-api-version"])) ?? [];
    if (Number(minor ?? 1) > this.#minor) {
      const refused = fault(406, `Version 1.${minor} was requested but is not supported.`);
      const largest = { "X-OpenStack-Ironic-API-Maximum-Version": `1.${this.#minor}` };
      return { ...refused, headers: { ...refused.headers, ...largest } };
    }
    if (/^\/v1\/nodes(\?|$)/.test(path)) return this.#list(path);
    const [, name = "", rest = ""] = /^\/v1\/nodes\/([^/?]+)([^?]*)/.exec(path) ?? [];
    const node = this.nodes.get(name);
    return node ? node.answer(method, rest, parse(body)) : fault(404, `Node ${name} could not be found.`);
  }

  #admits(headers: SeenRequest["headers"]): boolean {
    if (this.#auth === "none") return true;
    if (this.#auth === "basic") return headers.authorization === this.#basic;
    return this.keystone.isValid(headers["x-auth-token"]);
  }

  /** Lists the nodes in pages. */
  #list(path: string): Reply {
    const marker = new URL(path, this.http.url).searchParams.get("marker");
    const all = [...this.nodes].map(([name, { state }], index) => ({ uuid: uuidOf(index), name, ...state }));
    const start = marker === null ? 0 : all.findIndex(({ uuid }) => uuid === marker) + 1;
    const nodes = all.slice(start, start + PAGE);
    const hasMore = start + PAGE < all.length;
    const next = `${this.http.url}/v1/nodes?limit=${PAGE}&marker=${nodes.at(-1)?.uuid}`;
    return json(200, { nodes, ...(hasMore ? { next } : {}) });
  }
}

function uuidOf(index: number): string {
  return `27946b59-9e44-4fa7-8e91-${String(index).padStart(12, "0")}`;
}

/** Starts an Ironic. It listens when the promise resolves. */
export async function startIronic(options: IronicOptions = {}): Promise<IronicServer> {
  const server = new IronicServer(options);
  await server.http.listen(options.port);
  return server;
}
