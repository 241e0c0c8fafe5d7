const ESCAPE = "\u001b";

/**
 * What a person sees after a program has written `output` to a terminal. Only what a tree that is redrawn in place needs is known.
 * @throws Error for every other escape sequence or control character: nothing else may come out.
 */
export function screenOf(output: string): string[] {
  const lines: string[][] = [[]];
  let row = 0;
  let column = 0;
  const line = () => {
    while (lines.length <= row) lines.push([]);
    return lines[row] ?? [];
  };
  const pattern = new RegExp(`${ESCAPE}\\[(\\?)?([\\d;]*)([A-Za-z])|(.)`, "gsu");
  for (const [sequence, mode, parameters = "", command, character] of output.matchAll(pattern)) {
    const count = Number(parameters || 1);
    if (character === "\r") column = 0;
    else if (character === "\n") row++;
    else if (character !== undefined) {
      if (/\p{Cc}/u.test(character))
        throw new Error(`A control character on the terminal: ${JSON.stringify(character)}`);
      const current = line();
      while (current.length < column) current.push(" ");
      current[column++] = character;
    } else if (mode === "?" && /^(?:25|2026)[hl]$/.test(`${parameters}${command}`)) continue;
    else if (command === "m" && mode === undefined) continue;
    else if (command === "A") row = Math.max(0, row - count);
    else if (command === "B") row += count;
    else if (command === "G") column = count - 1;
    else if (command === "K" && parameters === "2") line().length = 0;
    else if (command === "K" && parameters === "") line().length = Math.min(line().length, column);
    else if (command === "J" && parameters === "") {
      line().length = Math.min(line().length, column);
      lines.length = row + 1;
    } else throw new Error(`An escape sequence on the terminal: ${JSON.stringify(sequence)}`);
  }
  return lines.map((cells) => cells.join("").trimEnd());
}
