import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { HttpListener } from "../../simulators/http-listener.ts";

/** A host that must not be contacted: HTTP, HTTPS and a DNS server on loopback, each of which counts who comes. */
export async function openForeignHost() {
  const http = new HttpListener({ tls: "http" }, () => ({ status: 200, body: "{}" }));
  const https = new HttpListener({}, () => ({ status: 200, body: "{}" }));
  await Promise.all([http.listen(), https.listen()]);
  const dns = createSocket("udp4");
  let datagrams = 0;
  dns.on("message", () => {
    datagrams += 1;
  });
  dns.bind(0, "127.0.0.1");
  await once(dns, "listening");
  return {
    http,
    https,
    dnsPort: dns.address().port,
    /** Connections count as well: without a request they already show who is there. */
    get contacts(): number {
      return http.connections + https.connections + datagrams;
    },
    async [Symbol.asyncDispose]() {
      dns.close();
      await Promise.all([http.close(), https.close()]);
    },
  };
}

/** A port on which connections are counted and cut. */
export async function openCountingPort(port: number) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => undefined);
    socket.destroy();
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    get connections(): number {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}
