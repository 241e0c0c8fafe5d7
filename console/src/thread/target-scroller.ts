import { useEffect } from "react";
import { usePageFocus, useTarget } from "./page-focus.js";

/** Frames within which what a target unfolds has to be there. */
const FRAMES = 20;

/** Brings the page's target into view once it is unfolded; a card gets the focus as well. */
export function useTargetScroller(onScroll: () => void): void {
  const focus = usePageFocus();
  const target = useTarget();
  useEffect(() => {
    if (!target) return;
    let frame = 0;
    let left = FRAMES;
    let focused = false;
    const look = () => {
      const element = document.querySelector<HTMLElement>(`main [data-place="${CSS.escape(target.place)}"]`);
      // Things above it may still be growing: what was found is brought into view once more, a few frames later.
      if (!element || left > FRAMES - 3) {
        left--;
        if (left > 0) frame = requestAnimationFrame(look);
        if (!element) return;
      }
      onScroll();
      element.scrollIntoView({ block: element.offsetHeight > window.innerHeight / 2 ? "start" : "center" });
      for (const marked of document.querySelectorAll(".is-target")) marked.classList.remove("is-target");
      element.classList.add("is-target");
      const { delegation } = element.dataset;
      // Once: whoever has gone on to something else in the meantime stays there.
      if (delegation === undefined || focused) return;
      focused = true;
      focus.highlight(delegation);
      if (!document.querySelector("search")?.contains(document.activeElement))
        element.querySelector<HTMLElement>(".subagent-toggle")?.focus({ preventScroll: true });
    };
    frame = requestAnimationFrame(look);
    return () => {
      cancelAnimationFrame(frame);
      for (const marked of document.querySelectorAll(".is-target")) marked.classList.remove("is-target");
    };
  }, [target, focus, onScroll]);
}
