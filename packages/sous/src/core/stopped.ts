/** Why a run stops before its work is done. */

/** Thrown through a run that waits for an answer that comes later. The run gets no `run-end`. */
export class Parked extends Error {
  override name = "Parked";

  constructor() {
    super("The run waits for an answer that comes later");
  }
}

/** Why a scope was aborted: becomes the run's outcome. */
export class Cancelled extends Error {
  override name = "Cancelled";
}

/** The deadline of a run has passed: its own ending is `timeout`, the runs below it are cancelled. */
export class TimedOut extends Error {
  override name = "TimedOut";
  readonly runId: string;

  constructor(message: string, runId: string) {
    super(message);
    this.runId = runId;
  }
}
