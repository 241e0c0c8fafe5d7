/** A text as a cell of a table. */
export function cell(text: string): string {
  return text.replaceAll("\n", " ").replaceAll("|", "\\|").trim();
}

/** A table; columns in which no row has anything are left out. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = head.map((_, column) => rows.some((row) => (row[column] ?? "") !== ""));
  const line = (cells: readonly string[]) => `| ${cells.filter((_, column) => used[column]).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map((row) => line(row.map(cell)))].join("\n");
}

/** A value as code. */
export function code(value: unknown): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}
