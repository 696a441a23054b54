import type { DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import { compressionGzip, connectNodeAdapter } from "@connectrpc/connect-node";
import type { Clock } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import { textOf } from "../../../../shared/text-of.ts";
import { withTimeout } from "../../../../shared/timeout.ts";
import { addressText, type ListenAddress, listenProblem } from "../../../listener/addresses.ts";
import { ListeningServer } from "../../../listener/listening-server.ts";
import type { ApiCallObserver } from "../../shared/observer.ts";
import type { ApiAccess } from "./api-access.ts";
import { CONNECTION, createGate } from "./authenticate.ts";
import { Connections, leastUseful } from "./connections.ts";
import { createDispatch } from "./dispatch.ts";
import { Health } from "./gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "./gen/grpc/reflection/v1/reflection_pb.ts";
import { healthService } from "./health-service.ts";
import { LIMITS, type ListenerLimits } from "./limits.ts";
import { reflectionService } from "./reflection.ts";
import { createApiServer } from "./server.ts";

const UNSEEN: ApiCallObserver = { apiCall: () => undefined };

export interface ListenOptions {
  readonly address: ListenAddress;
  /** Registers the handlers of `services`. They find their caller in the context value `CALLER`. */
  readonly routes: (router: ConnectRouter) => void;
  /** The services that reflection and health list. */
  readonly services: readonly DescService[];
  /** Whether the health service reports that the worker serves. */
  readonly isServing: () => boolean;
  readonly access: ApiAccess;
  /** Allows everyone on any address. Otherwise, an address beyond loopback requires authentication. */
  readonly allowUnauthenticated: boolean;
  readonly log: Logger;
  readonly clock: Clock;
  readonly observer?: ApiCallObserver;
  readonly limits?: Partial<ListenerLimits>;
  /** Closes the listener. */
  readonly signal?: AbortSignal;
}

export interface Listener extends AsyncDisposable {
  /** The port in use. */
  readonly port: number;
  /** A URL of `http://` or `https://`, host and port. */
  readonly url: string;
  /** Gives calls a short time to end, then disconnects every client. Never rejects. */
  close(): Promise<void>;
}

const NEVER = new AbortController().signal;

/**
 * Serves services with gRPC (HTTP/2) and the Connect protocol (HTTP/1.1 or 2), with health and reflection, as plaintext or TLS
 * on one address. Rejects with one line if the address is not available; then nothing is left open.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { address, services, access, allowUnauthenticated, log, clock, signal } = options;
  signal?.throwIfAborted();
  const { tls } = access;
  const limits = { ...LIMITS, ...options.limits };
  const connections = new Connections(limits);
  const stop = new AbortController();
  const onRequest = createDispatch({
    services: [...services, Health, ServerReflection],
    adapter: createAdapter(options, connections, limits, stop.signal),
    connections,
    limits,
    isLoopback: () => listening.isLoopback,
  });
  const server = createApiServer({ tls, connections, limits, onRequest });
  const listening = new ListeningServer({ server, tls, connections: limits.connections, leastUseful, log });
  const close = once(() => {
    const drained = withTimeout(limits.drainMs, NEVER, () => connections.drain(), clock);
    const closed = listening.close(drained.catch(() => undefined));
    stop.abort(new ConnectError("the worker is stopping", Code.Unavailable));
    return closed;
  });
  try {
    await listening.listen(address);
  } catch (thrown) {
    throw new Error(`cannot listen on ${addressText(address)} (pbnj-address): ${listenProblem(thrown)}`, {
      cause: thrown,
    });
  }
  if (!listening.isLoopback && !access.authenticates && !allowUnauthenticated) {
    await close();
    throw new Error(
      `${addressText(address)} (pbnj-address) is not a loopback address and needs authentication`,
    );
  }
  if (signal?.aborted) {
    await close();
    signal.throwIfAborted();
  }
  signal?.addEventListener("abort", () => void close(), { once: true });
  return { port: listening.address.port, url: listening.url, close, [Symbol.asyncDispose]: close };
}

function createAdapter(
  { routes, services, isServing, access, log, clock, observer = UNSEEN }: ListenOptions,
  connections: Connections,
  { messageBytes }: ListenerLimits,
  shutdownSignal: AbortSignal,
) {
  const names = services.map(({ typeName }) => typeName);
  return connectNodeAdapter({
    routes(router) {
      routes(router);
      router.service(Health, healthService(names, isServing, clock));
      router.service(ServerReflection, reflectionService([...services, Health, ServerReflection]));
    },
    contextValues: (request) => createContextValues().set(CONNECTION, connections.of(request)),
    // Browsers do not use this API.
    grpcWeb: false,
    acceptCompression: [compressionGzip],
    readMaxBytes: messageBytes,
    // A misspelt field must not be ignored.
    jsonOptions: { ignoreUnknownFields: false },
    requestGate: createGate({ access, clock, log, observer }),
    interceptors: [watchCalls(services, log, observer)],
    shutdownSignal,
  });
}

/** Counts calls and logs unexpected failures. The client learns only that a failure is internal. */
function watchCalls(services: readonly DescService[], log: Logger, observer: ApiCallObserver): Interceptor {
  return (next) => async (request) => {
    const seen = (code: string) => {
      if (services.includes(request.service)) observer.apiCall({ code });
    };
    try {
      const answer = await next(request);
      seen("OK");
      return answer;
    } catch (thrown) {
      if (!(thrown instanceof ConnectError)) {
        log.error({ method: request.method.name, error: textOf(thrown) }, "API call failed");
      }
      seen(thrown instanceof ConnectError ? Code[thrown.code] : "Internal");
      throw thrown;
    }
  };
}

function once<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= run();
    return running;
  };
}
