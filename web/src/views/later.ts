/** The views whose script is fetched when it is first wanted, in one file: most captures have no data for them. */
export { CompareView } from "./compare/compare_view.ts";
export { HardwareView } from "./hardware/hardware_view.ts";
export { ProblemsView } from "./problems/problems_view.ts";
export { RanksView } from "./ranks/ranks_view.ts";
export { SqlView } from "./sql/sql_view.ts";
export { TapeView } from "./tape/tape_view.ts";
