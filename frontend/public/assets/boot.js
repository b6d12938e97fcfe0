// TensorBoard calls render() itself; the page that stands alone does it here.
import { render } from "../index.js";

render();
