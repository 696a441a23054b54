export { buildConnector, Client, Dispatcher, errors } from "undici";
