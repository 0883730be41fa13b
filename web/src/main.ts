/** Puts the page together: the views in the order of their tabs. A new view adds itself here. */
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/rows.css";
import "./styles/shell.css";
import "./styles/overlays.css";
import "./styles/states.css";
import "./styles/narrow.css";
import "./styles/rewrites.css";
import "./styles/stepping.css";
import "./styles/code.css";
import "./styles/schedule.css";
import "./styles/hardware.css";
import "./styles/timeline.css";
import "./styles/memory.css";
import "./styles/calls.css";
import "./styles/top.css";
import "./styles/tape.css";
import "./styles/ranks.css";
import "./styles/sql.css";
import "./styles/problems.css";
import "./styles/compare.css";
import "./styles/compare_graphs.css";
import { allowOwnScripts } from "./base/trusted.ts";
import { CALLS } from "./views/calls/calls_view.ts";
import { COMPARE } from "./views/compare/tab.ts";
import { CODE } from "./views/code/code_view.ts";
import { HARDWARE } from "./views/hardware/tab.ts";
import { MEMORY } from "./views/memory/memory_view.ts";
import { PROBLEMS } from "./views/problems/tab.ts";
import { RANKS } from "./views/ranks/tab.ts";
import type { ViewDef } from "./views/registry.ts";
import { REWRITES } from "./views/rewrites/rewrites_view.ts";
import { SCHEDULE } from "./views/schedule/schedule_view.ts";
import { App } from "./views/shell/app.ts";
import { SQL } from "./views/sql/tab.ts";
import { TAPE } from "./views/tape/tab.ts";
import { TIMELINE } from "./views/timeline/timeline_view.ts";
import { TOP } from "./views/top/top_view.ts";

const VIEWS: readonly ViewDef[] = [
  COMPARE,
  TIMELINE,
  RANKS,
  CALLS,
  REWRITES,
  SCHEDULE,
  MEMORY,
  TOP,
  CODE,
  PROBLEMS,
  HARDWARE,
  TAPE,
  SQL,
];

allowOwnScripts();
void new App(VIEWS).start();
