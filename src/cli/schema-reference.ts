import { existsSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { SCHEMA_PATH } from "../config/json-schema.js";

/**
 * What a config's `$schema` says so that editors find the schema: they take paths and URLs, and know nothing of packages' exports.
 * @param folder of the config.
 * @returns the path into the nearest `node_modules` that has it, else the URL of this package's own, else nothing.
 */
export function schemaReference(folder: string): string | undefined {
  for (let place = folder; ; place = dirname(place)) {
    const file = join(place, "node_modules", "troupe", SCHEMA_PATH);
    if (existsSync(file)) {
      const path = relative(folder, file).split(sep).join("/");
      return path.startsWith(".") ? path : `./${path}`;
    }
    if (dirname(place) === place) break;
  }
  const own = fileURLToPath(new URL(`../../${SCHEMA_PATH}`, import.meta.url));
  // What npx has put aside is gone one day.
  return existsSync(own) && !own.split(sep).includes("_npx") ? pathToFileURL(own).href : undefined;
}
