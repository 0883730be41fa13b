/** Has a page that is a file answer its own questions; the first thing that it does. */
import { CopySource } from "./data/copy/copy_source.ts";
import { partsOfPage } from "./data/copy/parts.ts";
import { answerFrom } from "./data/source.ts";

const parts = partsOfPage();
if (parts) answerFrom(new CopySource(parts));
