import { useState } from "react";

/** Reads what this browser keeps for the page. A browser that keeps nothing for pages is no error. */
export function recall(name: string): string | undefined {
  try {
    return localStorage.getItem(`troupe.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`troupe.${name}`, value);
  } catch {
    // Full, or forbidden: the page works without.
  }
}

/** A switch whose position this browser keeps. */
export function useRememberedSwitch(name: string, initial: boolean): [boolean, (on: boolean) => void] {
  const [on, setOn] = useState(() => {
    const kept = recall(name);
    return kept === undefined ? initial : kept === "on";
  });
  const set = (next: boolean) => {
    remember(name, next ? "on" : "off");
    setOn(next);
  };
  return [on, set];
}
