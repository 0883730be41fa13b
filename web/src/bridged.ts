/** The page in a notebook's cell whose kernel the browser cannot reach: the same views, asked of the cell. */
import "./answer_from_cell.ts";
import "./main.ts";
