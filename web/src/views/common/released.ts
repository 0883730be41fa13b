/** What comes late and would move what is under the pointer waits while a button is held: else no click arrives. */
let held = false;
let waiting: (() => void)[] = [];

/** Starts to watch the buttons; once per page. */
export function startReleases(): void {
  const release = (): void => {
    held = false;
    const late = waiting;
    waiting = [];
    for (const show of late) show();
  };
  const options = { capture: true, passive: true };
  document.addEventListener(
    "pointerdown",
    () => {
      held = true;
    },
    options,
  );
  // the click follows the release at once
  for (const name of ["pointerup", "pointercancel"])
    document.addEventListener(name, () => setTimeout(release), options);
  // released where the page was not told
  document.addEventListener(
    "pointermove",
    ({ buttons }) => {
      if (held && buttons === 0) release();
    },
    options,
  );
}

/** Calls it now, or as soon as no button is held. */
export function whenReleased(show: () => void): void {
  if (held) waiting.push(show);
  else show();
}
