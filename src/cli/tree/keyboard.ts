import { emitKeypressEvents } from "node:readline";

/** A key that was pressed: its text, empty for those that write nothing, and its name. */
export interface Key {
  readonly text: string;
  readonly name: string | undefined;
}

/** Listens until it is closed. */
export interface Keyboard {
  close(): void;
}

/** Hears single keys of a terminal; nothing when standard input is none. */
export function listenToKeys(onKey: (key: Key) => void): Keyboard {
  const { stdin } = process;
  if (!stdin.isTTY) return { close: () => undefined };
  const onPress = (text: string | undefined, key: { ctrl?: boolean; name?: string } | undefined) => {
    // Raw mode takes the signal away from Ctrl-C.
    if (key?.ctrl && key.name === "c") process.kill(process.pid, "SIGINT");
    else onKey({ text: text ?? "", name: key?.name });
  };
  emitKeypressEvents(stdin);
  stdin.setRawMode(true);
  stdin.on("keypress", onPress);
  return {
    close: () => {
      stdin.off("keypress", onPress);
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
}
