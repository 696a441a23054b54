// What action bundles get as "undici": loading the whole package costs an action 50 ms of its start. Each name
// is the package's own. The assignment is the one its index makes: without it a client has no `request`.
import api from "undici/lib/api/index.js";
import Dispatcher from "undici/lib/dispatcher/dispatcher.js";

Object.assign(Dispatcher.prototype, api);

export { default as buildConnector } from "undici/lib/core/connect.js";
export { default as errors } from "undici/lib/core/errors.js";
export { default as Client } from "undici/lib/dispatcher/client.js";
export { Dispatcher };
