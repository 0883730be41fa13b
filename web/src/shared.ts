/**
 * The page as one file that somebody sent (`peephole share`): the same views as main.ts puts together, as far as a copy
 * can have their data, and a bar that says what it is.
 */
import "./answer_from_copy.ts";
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
import "./styles/timeline.css";
import "./styles/memory.css";
import "./styles/calls.css";
import "./styles/top.css";
import "./styles/problems.css";
import "./styles/copy_bar.css";
import { allowOwnScripts } from "./base/trusted.ts";
import { source } from "./data/source.ts";
import { CALLS } from "./views/calls/calls_view.ts";
import { CODE } from "./views/code/code_view.ts";
import { MEMORY } from "./views/memory/memory_view.ts";
import { PROBLEMS } from "./views/problems/tab.ts";
import { REWRITES } from "./views/rewrites/rewrites_view.ts";
import { SCHEDULE } from "./views/schedule/schedule_view.ts";
import { App } from "./views/shell/app.ts";
import { showCopyBar } from "./views/shell/copy_bar.ts";
import { TIMELINE } from "./views/timeline/timeline_view.ts";
import { TOP } from "./views/top/top_view.ts";

allowOwnScripts();
void new App([TIMELINE, CALLS, REWRITES, SCHEDULE, MEMORY, TOP, CODE, PROBLEMS]).start();
const { copy } = source();
if (copy) showCopyBar(copy);
