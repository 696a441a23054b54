import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { HandleRequest } from "../../simulators/web-server.ts";
import { drain, holdAnswer, sendHeld } from "./held-answer.ts";

/** Two members of a collection that change their places: each is then found under the other's address and ID. */
interface Move {
  readonly collection: string;
  readonly places: readonly [string, string];
}

/** By the name of the fault. */
export const MOVES: Readonly<Record<string, Move>> = {
  "moved-systems": { collection: "Systems", places: ["1-1", "1-2"] },
  "moved-drives": { collection: "Drives", places: ["0", "2"] },
  "moved-volumes": { collection: "Volumes", places: ["1", "2"] },
  "moved-accounts": { collection: "Accounts", places: ["2", "3"] },
  "moved-media": { collection: "VirtualMedia", places: ["CD1", "Floppy1"] },
  "moved-keys": { collection: "Signatures", places: ["1", "2"] },
  "moved-firmware": { collection: "FirmwareInventory", places: ["BMC", "BIOS"] },
};

/** Moves whose members are asked for one by one before the n-th request. */
export function movesAt(requests: readonly string[], at: number): readonly string[] {
  return Object.keys(MOVES).filter((name) =>
    requests.slice(0, at - 1).some((request) => placeIn(MOVES[name] as Move).test(request)),
  );
}

const placeIn = ({ collection, places }: Move) =>
  new RegExp(`/${collection}/(${places.join("|")})(?=[/?]|$)`);

/** The path of a resource after two members have changed places. */
export function movedPath(move: Move, path: string): string {
  return path.replace(placeIn(move), (whole, id: string) => {
    const other = move.places[0] === id ? move.places[1] : move.places[0];
    return `${whole.slice(0, -id.length)}${other}`;
  });
}

/** A message after the move: its addresses, and the IDs beside them. */
export function movedBody(move: Move, value: unknown): unknown {
  if (typeof value === "string") return value.startsWith("/redfish/") ? movedPath(move, value) : value;
  if (Array.isArray(value)) return value.map((item) => movedBody(move, item));
  if (typeof value !== "object" || value === null) return value;
  const moved = Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, movedBody(move, item)]),
  );
  const path = moved["@odata.id"];
  if (typeof path !== "string" || path === Reflect.get(value, "@odata.id") || !("Id" in moved)) return moved;
  const id = path.slice(path.lastIndexOf("/") + 1);
  return move.places.includes(id) ? { ...moved, Id: id } : moved;
}

/** Hands a request on as it reads before the move, and its answer back as it reads after it. */
export function handMoved(
  move: Move,
  request: IncomingMessage,
  response: ServerResponse,
  handle: HandleRequest,
  then: (status: number | undefined) => void,
): void {
  drain(request, (text) => {
    const body = Readable.from(text === "" ? [] : [Buffer.from(movedText(move, text))]);
    const { method, headers, url = "" } = request;
    const asked = Object.assign(body, {
      method,
      headers,
      url: movedPath(move, url),
    }) as unknown as IncomingMessage;
    holdAnswer(asked, handle, (answer) => {
      then(answer?.status);
      if (!answer) {
        response.destroy();
        return;
      }
      const moved = Object.entries(answer.headers).map(([name, value]) => [name, movedBody(move, value)]);
      sendHeld(response, {
        ...answer,
        headers: Object.fromEntries(moved),
        body: movedText(move, answer.body),
      });
    });
  });
}

function movedText(move: Move, text: string): string {
  try {
    return JSON.stringify(movedBody(move, JSON.parse(text)));
  } catch {
    return text;
  }
}
