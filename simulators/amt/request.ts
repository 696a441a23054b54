/** A request, read with regular expressions so that the simulator shares no code with the client. */
export interface Asked {
  readonly action: string;
  readonly resourceUri: string;
  /** The class at the end of the resource URI. */
  readonly resource: string;
  readonly messageId: string;
  /** The instance that the header names. */
  readonly selectors: ReadonlyMap<string, string>;
  readonly body: string;
  /** The whole message. */
  readonly text: string;
}

export function readRequest(text: string): Asked {
  const [, header = "", body = ""] =
    /<(?:\w+:)?Header\b[^>]*>(.*?)<\/(?:\w+:)?Header>(.*)$/s.exec(text) ?? [];
  const resourceUri = valueIn(header, "ResourceURI");
  return {
    action: valueIn(header, "Action"),
    resourceUri,
    resource: resourceUri.replace(/^.*\//, ""),
    messageId: valueIn(header, "MessageID"),
    selectors: selectorsIn(header),
    body,
    text,
  };
}

/** Returns the text of the first element with this name. */
export function valueIn(text: string, name: string): string {
  return new RegExp(`<(?:\\w+:)?${name}(?:\\s[^>]*)?>([^<]*)<`).exec(text)?.[1] ?? "";
}

export function hasElement(text: string, name: string): boolean {
  return new RegExp(`<(?:\\w+:)?${name}[\\s/>]`).test(text);
}

export function selectorsIn(text: string): ReadonlyMap<string, string> {
  const found = text.matchAll(/<(?:\w+:)?Selector\s[^>]*?\bName="([^"]*)"[^>]*>([^<]*)</g);
  return new Map([...found].map(([, name = "", value = ""]) => [name, value]));
}
