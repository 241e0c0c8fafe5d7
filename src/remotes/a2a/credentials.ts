export { Credentials } from "../http/credentials.js";
