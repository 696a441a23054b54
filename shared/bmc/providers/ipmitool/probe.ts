import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { TimeoutReached } from "../../../timeout.ts";
import type { ProviderContext } from "../../operations/provider.ts";
import { sendUntilAnswered } from "../ipmi/session/retransmission.ts";
import { UdpTransport } from "../ipmi/session/transport.ts";
import { VERSION_QUESTION } from "../ipmi/session/version-question.ts";

/**
 * Whether anything answers at all, with the packet that the program itself begins with. The program takes 12 s and more to find a closed port or a dead host, and
 * says the same for both as for a wrong password. Throws `unreachable`.
 */
export async function probe(
  connection: Connection,
  { clock }: ProviderContext,
  signal: AbortSignal,
): Promise<void> {
  const { host, connectTimeoutMs: limitMs } = connection;
  const transport = await UdpTransport.open(host, connection.ipmitool.port, limitMs, signal);
  const { answer, stop } = transport.first((datagram) => (datagram.length > 0 ? true : undefined));
  try {
    const send = () => transport.send(VERSION_QUESTION);
    await sendUntilAnswered({ send, answer, limitMs, repeat: true }, clock, signal);
  } catch (thrown) {
    if (!(thrown instanceof TimeoutReached)) throw thrown;
    throw new BmcError("unreachable", `no IPMI answer within ${limitMs} ms`, { cause: thrown });
  } finally {
    stop();
    await transport.close();
  }
}
