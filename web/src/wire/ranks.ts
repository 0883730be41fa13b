/** What the server says about a run of many ranks. See docs/api.md. */

/** The head of the map; a float32 for each cell follows, row by row. */
export interface HeatHead {
  /** The rank of each row; where a row stands for several, the one whose mean is worst. */
  ranks: number[];
  /** Ranks that a row stands for. */
  counts: number[];
  /** The step of each column. */
  steps: number[];
  /** ns, of each row: over the median of its steps, or the figure itself. */
  means: number[];
  hosts: Record<string, string>;
  all: number;
  collectives: number;
  /** ns: how far off the worst known clock can be. */
  bound: number;
  /** Ranks whose clock nothing bounds. */
  unbounded: number;
  /** Rank, and the steps in which it made others wait. */
  slow: [number, number[]][];
  problems: { reason: string; count: number; example: string }[];
}

export interface StepRankWire {
  rank: number;
  own_ns: number;
  wait_ns: number;
  dur_ns: number;
  slow: boolean;
}

export interface StepCollectiveWire {
  index: number;
  name: string;
  /** -1 where nobody waits for the last. */
  last_rank: number;
  skew_ns: number;
  start_ns: number;
  /** Rank, ns after the first. */
  arrivals: [number, number][];
}

export interface StepLaneWire {
  rank: number;
  role: string;
  start_ns: number;
  end_ns: number;
  /** Collective, when it came, how long it waited, when it was done. */
  talks: [number, number, number, number][];
  /** Start, length, name. */
  slices: [number, number, string][];
}

export interface PathLegWire {
  rank: number;
  kind: string;
  name: string;
  start_ns: number;
  end_ns: number;
  waited_for_ns: number;
}

export interface StepWire {
  step: number;
  start_ns: number;
  dur_ns: number;
  ranks: StepRankWire[];
  of: number;
  median_own_ns: number;
  mean_wait_ns: number;
  lost_ns: number;
  collectives: StepCollectiveWire[];
  lanes: StepLaneWire[];
  path: PathLegWire[];
}
