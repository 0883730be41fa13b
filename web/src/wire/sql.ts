/** What the server says about tables, and answers to a query. See docs/api.md. */

export interface SqlColumn {
  name: string;
  type: string;
  /** A unit, or the column that it points to ("tracks.id"). */
  unit: string;
  doc: string;
}

export interface SqlTable {
  name: string;
  doc: string;
  rows: number;
  columns: SqlColumn[];
}

export interface SqlTablesWire {
  tables: SqlTable[];
  /** What a query may take, and the rows that an answer has at most. */
  seconds: number;
  bytes: number;
  rows: number;
}

export type SqlCell = string | number | boolean | null;

export interface SqlWire {
  /** What is wrong with the query, or which limit it reached; null when it has an answer. */
  error: string | null;
  columns: string[];
  types: string[];
  rows: number;
  more: boolean;
  took: number;
  values: SqlCell[][];
}

export interface SqlSliceWire {
  row: number;
}
