// Writes the pages that are made from the config's schema and from types. A test says when they are not current.
import { writeFileSync } from "node:fs";
import { configurationReference } from "./reference/configuration.js";
import { eventsReference } from "./reference/events.js";
import { httpReference } from "./reference/http.js";

writeFileSync("docs/reference/configuration.md", configurationReference());
writeFileSync("docs/reference/events.md", eventsReference());
writeFileSync("docs/reference/http.md", httpReference());
