import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import { type PeerCertificate, TLSSocket } from "node:tls";
import { Channel } from "../sources/grpc/channel.ts";
import type { Dialer } from "../sources/grpc/dial.ts";
import type { KeepAlive } from "../sources/grpc/http2-connection.ts";

/** Facts about the server that the connection revealed. */
export interface ServerFacts {
  /** Whether the TCP connection was established. */
  connected: boolean;
  /** After the TLS handshake: the version, such as `TLSv1.3`, and the server's certificate. */
  tls?: { readonly version: string; readonly certificate: PeerCertificate };
  /** Headers and trailers of the answer, such as `date` and `grpc-message`, with the wall-clock time before and after. */
  answer?: { readonly fields: IncomingHttpHeaders; readonly beforeMs: number; readonly afterMs: number };
}

/** A channel of the worker that also records facts about the server. */
export class RecordingChannel extends Channel {
  readonly seen: ServerFacts;

  constructor(dialer: Dialer, keepAlive: KeepAlive) {
    const seen: ServerFacts = { connected: false };
    super({ url: dialer.url, dial: async (signal) => watched(await dialer.dial(signal), seen) }, keepAlive);
    this.seen = seen;
  }

  override async request(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
  ): Promise<ClientHttp2Stream> {
    const stream = await super.request(method, path, headers);
    const beforeMs = Date.now();
    const note = (fields: IncomingHttpHeaders) => {
      this.seen.answer = {
        fields: { ...this.seen.answer?.fields, ...fields },
        beforeMs,
        afterMs: this.seen.answer?.afterMs ?? Date.now(),
      };
    };
    stream.once("response", note);
    stream.once("trailers", note);
    return stream;
  }
}

function watched(socket: Socket, seen: ServerFacts): Socket {
  seen.connected = !socket.connecting;
  socket.once("connect", () => {
    seen.connected = true;
  });
  if (socket instanceof TLSSocket) {
    socket.once("secureConnect", () => {
      seen.connected = true;
      seen.tls = { version: socket.getProtocol() ?? "TLS", certificate: socket.getPeerCertificate() };
    });
  }
  return socket;
}
