// The bundle that Python runs: a global function.

import { picture } from "./picture.ts";

(globalThis as unknown as { picture: typeof picture }).picture = picture;
