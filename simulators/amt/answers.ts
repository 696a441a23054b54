import type { Reply } from "../http-listener.ts";

const ADDRESSING = "http://schemas.xmlsoap.org/ws/2004/08/addressing";
const NAMESPACES = [
  'xmlns:a="http://www.w3.org/2003/05/soap-envelope"',
  `xmlns:b="${ADDRESSING}"`,
  'xmlns:c="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd"',
  'xmlns:e="http://schemas.xmlsoap.org/ws/2004/09/enumeration"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"',
].join(" ");

/** An instance of a class as a device writes it: fields in order, a repeated field as a list. */
export type Fields = Readonly<Record<string, string | number | readonly number[] | Reference>>;

/** A reference to an instance of a class by its keys. */
interface Reference {
  readonly of: string;
  readonly keys: Readonly<Record<string, string>>;
}

export function envelope(body: string, status = 200): Reply {
  const header = `<b:To>${ADDRESSING}/role/anonymous</b:To><b:MessageID>uuid:00000000-8086-8086-8086-000000000001</b:MessageID>`;
  return {
    status,
    headers: { "Content-Type": "application/soap+xml; charset=UTF-8" },
    body: `<?xml version="1.0" encoding="UTF-8"?><a:Envelope ${NAMESPACES}><a:Header>${header}</a:Header><a:Body>${body}</a:Body></a:Envelope>`,
  };
}

export function fault(subcode: string, reason: string): Reply {
  const code = `<a:Code><a:Value>a:Sender</a:Value><a:Subcode><a:Value>b:${subcode}</a:Value></a:Subcode></a:Code>`;
  const text = `<a:Reason><a:Text xml:lang="en-US">${reason}</a:Text></a:Reason>`;
  return envelope(`<a:Fault>${code}${text}<a:Detail></a:Detail></a:Fault>`, 400);
}

export function instance(name: string, fields: Fields): string {
  const content = Object.entries(fields).flatMap(([field, value]) =>
    (Array.isArray(value) ? value : [value]).map(
      (one: string | number | Reference) => `<g:${field}>${contentOf(one)}</g:${field}>`,
    ),
  );
  return `<g:${name} xmlns:g="urn:${name}">${content.join("")}</g:${name}>`;
}

export const output = (method: string, returnValue: number): Reply =>
  envelope(instance(`${method}_OUTPUT`, { ReturnValue: returnValue }));

function contentOf(value: string | number | Reference): string {
  if (typeof value !== "object") return String(value);
  const selectors = Object.entries(value.keys).map(
    ([key, text]) => `<c:Selector Name="${key}">${text}</c:Selector>`,
  );
  const uri = `http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/${value.of}`;
  return `<b:Address>${ADDRESSING}/role/anonymous</b:Address><b:ReferenceParameters><c:ResourceURI>${uri}</c:ResourceURI><c:SelectorSet>${selectors.join("")}</c:SelectorSet></b:ReferenceParameters>`;
}
