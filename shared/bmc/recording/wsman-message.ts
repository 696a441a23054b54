import { defined } from "../../defined.ts";
import type { Anonymiser } from "../../recording/anonymise.ts";
import type { WsmanAnswer, WsmanRequest } from "../../recording/recording.ts";
import { readFault } from "../providers/amt/fault.ts";
import { childOf, childrenOf, parseXml, type XmlElement } from "../providers/amt/xml.ts";
import { anonymousInstance, classIn, instanceOf, instancesOf } from "./amt-instance.ts";

type Fault = NonNullable<WsmanAnswer["fault"]>;

/** Parses a request to Intel AMT, including secrets; undefined if the text is not one. */
export function readWsmanRequest(text: string): WsmanRequest | undefined {
  const envelope = envelopeIn(text);
  const header = childOf(envelope, "Header");
  const action = classIn(childOf(header, "Action")?.text ?? "");
  const resource = classIn(childOf(header, "ResourceURI")?.text ?? "");
  if (action === undefined || resource === undefined) return undefined;
  const body = childOf(envelope, "Body");
  const input = childOf(body, `${action}_INPUT`) ?? childOf(body, resource);
  return { action, class: resource, ...defined({ input: input && instanceOf(input) }) };
}

/** Parses an answer of Intel AMT, including secrets; undefined if the text is not one. */
export function readWsmanAnswer(text: string, asked: WsmanRequest): WsmanAnswer | undefined {
  const body = childOf(envelopeIn(text), "Body");
  if (!body) return undefined;
  const fault = childOf(body, "Fault");
  if (fault) return { fault: readFault(fault) };
  const part = childOf(body, "EnumerateResponse") ?? childOf(body, "PullResponse");
  const output = childOf(body, asked.class) ?? childOf(body, `${asked.action}_OUTPUT`);
  if (!part) return { ...defined({ output: output && instanceOf(output) }) };
  const items = childOf(part, "Items");
  const hasMore = Boolean(childOf(part, "EnumerationContext")?.text) && !childOf(part, "EndOfSequence");
  return {
    ...(part.name === "PullResponse" && {
      instances: [...instancesOf(asked.class, childrenOf(items, asked.class))],
    }),
    ...(hasMore && { more: true }),
  };
}

function envelopeIn(text: string): XmlElement | undefined {
  try {
    const root = parseXml(text);
    return root.name === "Envelope" ? root : undefined;
  } catch {
    // A page of the device's web server, or the contents of its memory.
    return undefined;
  }
}

/** Collects everything that identifies the machine, before anything is written. */
export function collectMessage(message: WsmanRequest | WsmanAnswer, anonymiser: Anonymiser): void {
  for (const instance of partsOf(message)) anonymiser.collect(instance);
}

function partsOf(message: WsmanRequest | WsmanAnswer) {
  if ("action" in message) return [message.input ?? {}];
  return [message.output ?? {}, ...(message.instances ?? [])];
}

/** A message without anything that identifies the machine. */
export function anonymousRequest({ input, ...asked }: WsmanRequest, anonymiser: Anonymiser): WsmanRequest {
  return { ...asked, ...defined({ input: input && anonymousInstance(input, anonymiser) }) };
}

/** A message without anything that identifies the machine. */
export function anonymousAnswer(
  { output, instances, fault, ...rest }: WsmanAnswer,
  anonymiser: Anonymiser,
): WsmanAnswer {
  return {
    ...defined({
      output: output && anonymousInstance(output, anonymiser),
      instances: instances?.map((one) => anonymousInstance(one, anonymiser)),
      fault: fault && anonymousFault(fault, anonymiser),
    }),
    ...rest,
  };
}

export function anonymousFault({ subcode, reason }: Fault, anonymiser: Anonymiser): Fault {
  return {
    subcode: anonymiser.text(subcode),
    reason: anonymiser.text(reason),
  };
}
