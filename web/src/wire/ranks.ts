/** What the server says about a run of many ranks. See docs/api.md. */

/** The head of the map; a float32 for each cell follows, row by row. */
export interface HeatHead {
  /** The rank of each row; where a row stands for several, the one whose mean is worst. */
  ranks: number[];
  /** Ranks that a row stands for. */
  counts: number[];
  /** The step of each column, and the last one where it stands for several. */
  steps: number[];
  lasts: number[];
  all_steps: number;
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
  host: string;
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
  /** Of a collective: the rank that came last to it. */
  waited_for: number;
}

/** What may have made the rank with most own time late. */
export interface WhyWire {
  rank: number;
  /** What it computed, and how many kernels it ran, against the median rank. */
  work: number;
  runs: number;
  /** -1 where it made nobody wait. */
  first_slow_step: number;
  slow_steps: number;
  /** The median rank of the step, and what the late one ran longer than that: name, ns. */
  median: number;
  over: [string, number][];
}

/** A rank's own capture, and the part of a step on its clock. */
export interface RankPlaceWire {
  id: string;
  t0: number;
  t1: number;
}

/** Times are ns after the begin of the step. */
export interface StepWire {
  step: number;
  /** ns since 1970, more than a number holds. */
  start_ns: string;
  dur_ns: number;
  ranks: StepRankWire[];
  of: number;
  median_own_ns: number;
  mean_wait_ns: number;
  lost_ns: number;
  /** Ranks that waited for the slowest one. */
  held: number;
  /** Those that ranks came to furthest apart, with arrivals, and those of the lanes. */
  collectives: StepCollectiveWire[];
  of_collectives: number;
  lanes: StepLaneWire[];
  path: PathLegWire[];
  why: WhyWire;
  /** Machines that stand out over the whole run. */
  hosts: { host: string; ranks: number; over_ns: number }[];
}

/** A rank in several steps, ns in all of them. */
export interface StepsRankWire {
  rank: number;
  own_ns: number;
  /** Over the median of each step. */
  over_ns: number;
  wait_ns: number;
  /** Steps in which it made others wait. */
  slow: number;
}

/** One of several steps. */
export interface StepsStepWire {
  step: number;
  dur_ns: number;
  /** What the slowest rank is over the median one; 0 where nobody was slow. */
  lost_ns: number;
  /** The rank with most own time. */
  slowest: number;
}

/** Several steps in a row. */
export interface StepsWire {
  first: number;
  last: number;
  steps: number;
  /** From the begin of the first to the end of the last. */
  dur_ns: number;
  lost_ns: number;
  /** Of a rank, in all of the steps. */
  median_own_ns: number;
  mean_wait_ns: number;
  /** Most over the median first. */
  ranks: StepsRankWire[];
  of: number;
  /** Those that lost most first. */
  worst: StepsStepWire[];
}
