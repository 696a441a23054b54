import type { Reply } from "../http-listener.ts";
import type { Asked } from "./request.ts";

const ADDRESSING = "http://schemas.xmlsoap.org/ws/2004/08/addressing";
const ENUMERATION = "http://schemas.xmlsoap.org/ws/2004/09/enumeration";
const TRANSFER = "http://schemas.xmlsoap.org/ws/2004/09/transfer";
const WSMAN = "http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd";
const NAMESPACES = [
  'xmlns:a="http://www.w3.org/2003/05/soap-envelope"',
  `xmlns:b="${ADDRESSING}"`,
  `xmlns:c="${WSMAN}"`,
  `xmlns:d="${TRANSFER}"`,
  `xmlns:e="${ENUMERATION}"`,
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"',
].join(" ");
const ANONYMOUS = `${ADDRESSING}/role/anonymous`;

/** Completes an answer with what the request determines: its message ID and action. */
export type Answer = (asked: Asked) => Reply;

/** An instance of a class in the form that a device sends: fields in order, a repeated field as a list. */
export type Fields = Readonly<Record<string, string | number | readonly (string | number)[] | Reference>>;

/** A reference to an instance of a class by its keys. */
export interface Reference {
  readonly of: string;
  readonly keys: Readonly<Record<string, string | number | Reference>>;
}

/** The resource URI of a class, which is also the namespace of its instances (DSP0230 section 8). */
export function uriOf(resource: string): string {
  const vendor = /^(AMT|IPS)_/.exec(resource)?.[1]?.toLowerCase();
  return vendor
    ? `http://intel.com/wbem/wscim/1/${vendor}-schema/1/${resource}`
    : `http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/${resource}`;
}

/** Makes an answer with the header that devices send: `RelatesTo`, `Action` and `ResourceURI` (DSP0226 section 5.4). */
export const envelope =
  (body: string): Answer =>
  (asked) =>
    soap(body, asked, `${asked.action}Response`, `<c:ResourceURI>${asked.resourceUri}</c:ResourceURI>`);

/** The namespace and the action of fault codes (DSP0226 section 14.6). Other codes are from WS-Management. */
const FAULTS: Readonly<Record<string, readonly [prefix: string, action: string]>> = {
  ActionNotSupported: ["b", `${ADDRESSING}/fault`],
  DestinationUnreachable: ["b", `${ADDRESSING}/fault`],
  InvalidEnumerationContext: ["e", `${ENUMERATION}/fault`],
  InvalidRepresentation: ["d", `${TRANSFER}/fault`],
};
const OF_WSMAN = ["c", "http://schemas.dmtf.org/wbem/wsman/1/wsman/fault"] as const;

export const fault =
  (subcode: string, reason: string): Answer =>
  (asked) => {
    const [prefix, action] = FAULTS[subcode] ?? OF_WSMAN;
    const code = `<a:Code><a:Value>a:Sender</a:Value><a:Subcode><a:Value>${prefix}:${subcode}</a:Value></a:Subcode></a:Code>`;
    const text = `<a:Reason><a:Text xml:lang="en-US">${reason}</a:Text></a:Reason>`;
    const body = `<a:Fault>${code}${text}<a:Detail></a:Detail></a:Fault>`;
    return { ...soap(body, asked, action, ""), status: 400 };
  };

export const instance = (name: string, fields: Fields) => element(name, uriOf(name), fields);

/** Makes the output of a method, in the namespace of the class that has the method. */
export const outputOf =
  (method: string, fields: Fields): Answer =>
  (asked) =>
    envelope(element(`${method}_OUTPUT`, asked.resourceUri, fields))(asked);

export const output = (method: string, returnValue: number): Answer =>
  outputOf(method, { ReturnValue: returnValue });

/** Begins an enumeration (WS-Enumeration section 3.1). Without a context it is also the end. */
export const enumerated = (context: string | undefined): Answer =>
  envelope(`<e:EnumerateResponse>${contextElement(context)}</e:EnumerateResponse>`);

/** Makes a part of an enumeration from serialized items. Without a context it is the last part (WS-Enumeration section 3.2). */
export function pulled(items: readonly string[], context: string | undefined): Answer {
  const end = context === undefined ? "<e:EndOfSequence></e:EndOfSequence>" : "";
  const list = `<e:Items>${items.join("")}</e:Items>`;
  return envelope(`<e:PullResponse>${contextElement(context)}${list}${end}</e:PullResponse>`);
}

const contextElement = (context: string | undefined) =>
  context === undefined ? "" : `<e:EnumerationContext>${context}</e:EnumerationContext>`;

/** Makes the reference to an instance for an enumeration of references (DSP0226 section 8.7). */
export function endpointReference(name: string, fields: Fields): string {
  return `<b:EndpointReference>${contentOf({ of: name, keys: keysOf(fields) })}</b:EndpointReference>`;
}

const KEYS = ["InstanceID", "CreationClassName", "Name", "SystemCreationClassName", "SystemName"];

/** Returns the keys of an instance: the references of an association, and the names of everything else. */
function keysOf(fields: Fields): Reference["keys"] {
  const references = Object.entries(fields).filter(([, value]) => isReference(value));
  const named = Object.entries(fields).filter(([name]) => KEYS.includes(name));
  return Object.fromEntries(references.length > 0 ? references : named) as Reference["keys"];
}

export function isReference(value: Fields[string] | undefined): value is Reference {
  return typeof value === "object" && "of" in value;
}

let sent = 0;

function soap(body: string, asked: Asked, action: string, more: string): Reply {
  const id = (++sent).toString(16).toUpperCase().padStart(12, "0");
  const header = [
    `<b:To>${ANONYMOUS}</b:To>`,
    `<b:RelatesTo>${asked.messageId}</b:RelatesTo>`,
    `<b:Action a:mustUnderstand="true">${action}</b:Action>`,
    `<b:MessageID>uuid:00000000-8086-8086-8086-${id}</b:MessageID>`,
    more,
  ].join("");
  return {
    status: 200,
    headers: { "Content-Type": "application/soap+xml; charset=UTF-8" },
    body: `<?xml version="1.0" encoding="UTF-8"?><a:Envelope ${NAMESPACES}><a:Header>${header}</a:Header><a:Body>${body}</a:Body></a:Envelope>`,
  };
}

function element(name: string, namespace: string, fields: Fields): string {
  const content = Object.entries(fields).flatMap(([field, value]) =>
    (Array.isArray(value) ? value : [value]).map(
      (one: string | number | Reference) => `<g:${field}>${contentOf(one)}</g:${field}>`,
    ),
  );
  return `<g:${name} xmlns:g="${namespace}">${content.join("")}</g:${name}>`;
}

function contentOf(value: string | number | Reference): string {
  if (typeof value !== "object") return String(value);
  const selectors = Object.entries(value.keys).map(([key, one]) => {
    const content = contentOf(one);
    const text = typeof one === "object" ? `<b:EndpointReference>${content}</b:EndpointReference>` : content;
    return `<c:Selector Name="${key}">${text}</c:Selector>`;
  });
  const parameters = `<c:ResourceURI>${uriOf(value.of)}</c:ResourceURI><c:SelectorSet>${selectors.join("")}</c:SelectorSet>`;
  return `<b:Address>${ANONYMOUS}</b:Address><b:ReferenceParameters>${parameters}</b:ReferenceParameters>`;
}
