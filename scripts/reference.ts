// Writes the pages that are made from the config's schema and from the types of events. A test says when they are not current.
import { writeFileSync } from "node:fs";
import { configurationReference } from "./reference/configuration.js";
import { eventsReference } from "./reference/events.js";

writeFileSync("docs/reference/configuration.md", configurationReference());
writeFileSync("docs/reference/events.md", eventsReference());
