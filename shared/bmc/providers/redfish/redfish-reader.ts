import type { Connection } from "../../../contract/connection.ts";
import { defined } from "../../../defined.ts";
import type { ProviderContext } from "../../operations/provider.ts";
import { accountOf, endpointOf, releaseOnce } from "./redfish-provider.ts";
import { Authentication } from "./service/authentication.ts";
import { type HttpAnswer, HttpClient } from "./service/http-client.ts";
import { Service } from "./service/service.ts";

/** Reads resources of any kind without interpreting them. */
export interface RedfishReader {
  /**
   * Reads a path. `lane` is one of the connections, which sends one request at a time. Throws only for refused credentials
   * and for no answer.
   */
  get(path: string, lane: number, signal: AbortSignal, maxBytes?: number): Promise<HttpAnswer>;
  /** The path of a link on this BMC; undefined if it leads elsewhere. */
  localPath(link: string | undefined): string | undefined;
  /** Logs out. Never throws. */
  close(): Promise<void>;
}

/** Opens several connections with a shared login. Sends nothing yet. */
export function openRedfishReader(
  connection: Connection,
  context: ProviderContext,
  lanes: number,
): RedfishReader {
  const { clock, log, tap } = context;
  const endpoint = endpointOf(connection, context);
  const { requestTimeoutMs } = connection;
  const options = { ...endpoint, requestTimeoutMs, identityEncoding: true, ...defined({ tap }) };
  const clients = Array.from({ length: lanes }, () => new HttpClient(options));
  const [http = new HttpClient(options)] = clients;
  const release = releaseOnce({
    close: async () => void (await Promise.all(clients.map((client) => client.close()))),
  });
  const account = accountOf(connection);
  const authentication = new Authentication(
    { http, clock, log },
    account,
    connection.redfish.auth,
    undefined,
  );
  release.add(authentication);
  const services = clients.map((client) => new Service(client, authentication, clock));
  const serviceOf = (lane: number) => services[lane % services.length] as Service;
  return {
    get: (path, lane, signal, maxBytes) =>
      serviceOf(lane).send({ method: "GET", path, ...defined({ maxBytes }) }, signal),
    localPath: (link) => serviceOf(0).localPath(link),
    close: () => release.run(),
  };
}
