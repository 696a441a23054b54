import { BmcError } from "../../../contract/bmc-error.ts";
import type { NetworkChange, NetworkDriver } from "../../operations/network-port.ts";
import { type CommandChannel, dataOf, exchange, request } from "./channel.ts";
import { type Command, ipmiCommand, NetFn } from "./command.ts";
import { COMPLETED } from "./completion-code.ts";
import {
  commitWrite,
  getLanParameters,
  lanChanges,
  parseLanParameters,
  setComplete,
  setInProgress,
} from "./lan-parameters.ts";

/** Get Channel Info (IPMI 2.0 section 22.24) of the channel that the session uses. */
const GET_CHANNEL_INFO = ipmiCommand("Get Channel Info", NetFn.app, 0x42, { data: Uint8Array.of(0x0e) });
/** Media of channels (table 6-3): 802.3 LAN, other LAN. */
const LAN_MEDIA = [0x04, 0x06];

/** "Parameter not supported". */
const NO_PARAMETER = 0x80;

/** The LAN channel that the session uses. IPMI has no host name. */
export function ipmiNetwork(channel: CommandChannel): NetworkDriver {
  let known: number | undefined;
  const lanChannel = async (signal: AbortSignal): Promise<number> => {
    if (known !== undefined) return known;
    const info = await request(channel, GET_CHANNEL_INFO, signal);
    if (!LAN_MEDIA.includes((info[1] ?? 0) & 0x7f)) {
      throw new BmcError("unsupported", "the session's channel is not a LAN");
    }
    known = (info[0] ?? 0) & 0x0f;
    return known;
  };
  return {
    async list(signal) {
      const number = await lanChannel(signal);
      return [parseLanParameters(number, await channel.run(getLanParameters(number), signal))];
    },
    plan: async (change) => lanChanges(change).map(([{ name }, text]) => `${name}: ${text}`),
    async write(change, signal) {
      await writeChange(channel, change, signal);
    },
    async finish(signal) {
      await ifOffered(channel, setComplete(await lanChannel(signal)), signal);
    },
  };
}

async function writeChange(
  channel: CommandChannel,
  change: NetworkChange,
  signal: AbortSignal,
): Promise<void> {
  const number = Number(change.target.id);
  const changes = lanChanges(change);
  await ifOffered(channel, setInProgress(number), signal);
  let sent = 0;
  try {
    for (const [command] of changes) {
      await request(channel, command, signal);
      sent += 1;
    }
    await ifOffered(channel, commitWrite(number), signal);
    await ifOffered(channel, setComplete(number), signal);
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.class === "cancelled") throw error;
    const lines = changes.map(([, text]) => text);
    if (error.uncertain || signal.aborted)
      throw unanswered(error, lines.slice(0, sent + 1), lines.slice(sent + 1));
    // A change that is left in progress locks other consoles out.
    await ifOffered(channel, setComplete(number), signal).catch(() => undefined);
    if (sent === 0) throw error;
    throw new BmcError("bmc", `${error.message}; the settings before it are sent`, {
      cause: error,
      uncertain: true,
    });
  }
}

/** The session went with the old address, perhaps before all was sent. */
function unanswered(error: BmcError, sent: readonly string[], unsent: readonly string[]): BmcError {
  const rest = unsent.length > 0 ? `, not sent: ${unsent.join(", ")}` : "";
  const half = `the change may be half made (sent: ${sent.join(", ")}${rest})`;
  const why = error.uncertain ? `${error.message}; ` : "";
  return new BmcError(error.class, `${why}${half}`, { cause: error, uncertain: true });
}

/** BMCs may lack the parameter, or its commit. */
async function ifOffered(channel: CommandChannel, command: Command, signal: AbortSignal): Promise<void> {
  const answer = await exchange(channel, command, signal);
  const { completionCode: code } = answer;
  if (code !== COMPLETED && code !== NO_PARAMETER && !isRefusedCommit(command, code)) dataOf(answer);
}

function isRefusedCommit({ data }: Command, code: number): boolean {
  return data[2] === 2 && (code === 0xcc || code === 0xc9 || code === 0xd5);
}
