/** Ends a pause early. */
export interface Alarm {
  /** Ends the pause, or the next one if there is none. */
  readonly ring: () => void;
  /** Waits for `ms`, or until it rings; returns whether it rang. */
  readonly wait: (ms: number) => Promise<boolean>;
}

const noPause = (): void => {};

/** Creates an alarm. Its pauses do not keep the process alive. */
export function createAlarm(): Alarm {
  let hasRung = false;
  let end = noPause;
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  return {
    ring: () => {
      hasRung = true;
      end();
    },
    wait: async (ms) => {
      if (!hasRung) await pause(ms);
      const wasRung = hasRung;
      hasRung = false;
      return wasRung;
    },
  };
}
