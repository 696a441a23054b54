/** From the client to the server, or back. */
export type Direction = "up" | "down";
