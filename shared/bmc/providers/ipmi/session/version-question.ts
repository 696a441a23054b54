/**
 * Get Channel Authentication Capabilities in IPMI 1.5 framing, for version 2.0, this channel and level administrator (IPMI
 * 2.0 section 22.13). Every BMC answers it outside sessions.
 */
export const VERSION_QUESTION = Buffer.from("0600ff0700000000000000000009" + "2018c88100388e04b5", "hex");

/** The offset of the message, after RMCP header, authentication type, session sequence, session ID and length. */
const MESSAGE_OFFSET = 14;
const APP_RESPONSE = 0x07;
const COMMAND = 0x38;

/** BMCs with IPMI 1.5 may refuse the bit that requests version 2.0. */
const INVALID_FIELD = 0xcc;

/** The newest IPMI version in an answer: bit 1 of the extended capabilities. Undefined for anything else. */
export function answeredVersion(datagram: Buffer): "1.5" | "2.0" | undefined {
  const message = datagram.subarray(MESSAGE_OFFSET);
  const [, netFn = 0, , , , command, code, , authTypes = 0, , extended = 0] = message;
  if (datagram[4] !== 0 || netFn >> 2 !== APP_RESPONSE || command !== COMMAND) return undefined;
  if (code === INVALID_FIELD) return "1.5";
  if (code !== 0 || message.length < 11) return undefined;
  return (authTypes & 0x80) === 0 || (extended & 0x02) === 0 ? "1.5" : "2.0";
}
