import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import type { ListenAddress } from "../../../../worker/listener/addresses.ts";

/** A TCP client that says exactly what it is told to, and keeps what it hears. */
export class RawClient implements AsyncDisposable {
  readonly socket: Socket;
  /** Resolves when the connection is closed, by either side. */
  readonly closed: Promise<unknown>;
  heard = "";

  private constructor(socket: Socket) {
    this.socket = socket;
    // A connection that is reset is closed as well.
    socket.on("error", () => undefined);
    socket.setEncoding("utf8").on("data", (text: string) => {
      this.heard += text;
    });
    this.closed = new Promise((resolve) => socket.once("close", resolve));
  }

  /** With `tls`, once TLS is established. */
  static async open({ host, port }: ListenAddress, tls?: ConnectionOptions): Promise<RawClient> {
    const socket = tls ? connectTls({ host, port, ...tls }) : connect({ host, port });
    await once(socket, tls ? "secureConnect" : "connect");
    return new RawClient(socket);
  }

  say(text: string): void {
    this.socket.write(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}

/** Everything that the server says to a request, until it closes the connection. */
export async function exchange(address: ListenAddress, text: string): Promise<string> {
  await using client = await RawClient.open(address);
  client.say(text);
  await client.closed;
  return client.heard;
}

/** A request after which the connection is closed. */
export function requestText(method: string, target: string, headers: readonly string[] = []): string {
  return [`${method} ${target} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers, "", ""].join(
    "\r\n",
  );
}
